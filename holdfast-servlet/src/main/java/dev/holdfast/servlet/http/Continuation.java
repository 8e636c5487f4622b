package dev.holdfast.servlet.http;

import dev.holdfast.Refusal;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A step that waits for a stage. Whatever fails, the request is answered here.
 *
 * @param exchange the request
 * @param stage what it waits for
 * @param id the request in the body, if it is known, for an error response
 * @param then takes the value, and returns the next step
 * @param orphaned takes the value where the client has left meanwhile or the container has no thread, and returns whether the
 *     work goes on without the request
 */
record Continuation<T>(
        Exchange exchange,
        CompletableFuture<T> stage,
        Optional<RequestId> id,
        Function<T, Step> then,
        Predicate<T> orphaned)
        implements Step {
    private static final Logger log = LoggerFactory.getLogger(Continuation.class);

    /**
     * Goes on if the stage is complete, else when it is, on a thread of the container: what follows may run a handler, and the stage may
     * be completed by a thread of the store or the engine.
     */
    @Override
    public Step next() {
        if (stage.isDone()) {
            return stage.isCompletedExceptionally() ? failed(failure()) : proceed(stage.join());
        }
        exchange.answer().defer();
        stage.whenComplete((value, failure) -> {
            try {
                Step resumed = failure == null ? () -> proceed(value) : () -> failed(failure);
                exchange.request().getAsyncContext().start(() -> exchange.follow(resumed));
            } catch (Throwable fault) {
                withoutThread(value, failure, fault);
            }
        });
        return DONE;
    }

    private Throwable failure() {
        return stage.<Throwable>handle((value, failure) -> failure).join();
    }

    private Step proceed(T value) {
        try {
            return then.apply(value);
        } catch (Throwable e) {
            exchange.answer().fail(id, e);
            return DONE;
        }
    }

    private Step failed(Throwable failure) {
        if (unavailable(failure)) {
            exchange.answer().reply(Rejection.of(Refusal.STORE).to(id));
        } else {
            exchange.answer().fail(id, failure);
        }
        return DONE;
    }

    private void withoutThread(T value, @Nullable Throwable failure, Throwable fault) {
        try {
            boolean goesOn = failure == null && orphaned.test(value);
            if (fault instanceof RejectedExecutionException && !goesOn) {
                exchange.answer().reply(Rejection.of(Refusal.DRAINING).to(id));
            } else if (fault instanceof IllegalStateException) {
                log.debug("a client has left: {}", fault.toString());
            } else {
                exchange.answer().fail(id, fault);
            }
        } catch (Throwable e) {
            exchange.answer().fail(id, e);
        } finally {
            exchange.memory().answered();
        }
    }

    private static boolean unavailable(Throwable failure) {
        return failure instanceof StoreUnavailableException || failure.getCause() instanceof StoreUnavailableException;
    }
}
