package dev.holdfast.log;

import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.UnreadableSessionException;
import java.nio.BufferUnderflowException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A question to the store: what it throws and how it fails are one. */
public final class StoreQuestion {
    private StoreQuestion() {}

    /**
     * Asks.
     *
     * @return fails with an {@link UnreadableException} where the store will never know, else with a
     *     {@link StoreUnavailableException}
     */
    public static <T> CompletionStage<T> ask(Supplier<CompletionStage<T>> question) {
        return asked(question).handle((value, failure) -> {
            if (failure != null) {
                throw failed(causeOf(failure));
            }
            return value;
        });
    }

    /** Asks; what the store throws fails the stage. */
    public static <T> CompletionStage<T> asked(Supplier<CompletionStage<T>> question) {
        try {
            return question.get();
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Why a stage has failed, without what a stage that depends on another one wraps it in. */
    public static @Nullable Throwable causeOf(@Nullable Throwable failure) {
        return failure instanceof CompletionException wrapped && wrapped.getCause() != null
                ? wrapped.getCause()
                : failure;
    }

    private static RuntimeException failed(@Nullable Throwable cause) {
        return cause instanceof UnreadableSessionException lost
                ? new UnreadableException(lost)
                : new StoreUnavailableException(cause);
    }

    /** This node writes to a session no more, for its lease is lost. Whether another one has taken the session over is not known. */
    public static final class LeaseLostException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        public LeaseLostException() {
            super("the lease was lost");
        }
    }

    /** What the store has kept of a session makes no sense, and never will. */
    public static final class UnreadableException extends RuntimeException {
        private static final long serialVersionUID = 1;

        UnreadableException(RuntimeException cause) {
            super(cause);
        }

        /** Reads something that was kept, or throws one. */
        public static <T> T read(Supplier<T> reading) {
            try {
                return reading.get();
            } catch (IllegalArgumentException | ArithmeticException | BufferUnderflowException e) {
                throw new UnreadableException(e);
            }
        }
    }
}
