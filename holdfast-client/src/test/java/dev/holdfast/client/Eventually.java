package dev.holdfast.client;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits, with a deadline. */
public final class Eventually {
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private Eventually() {}

    /** Waits for what a stage brings, for {@link Recorder#SOON} at most. */
    public static <T> T now(CompletionStage<T> stage) {
        return stage.toCompletableFuture()
                .orTimeout(Recorder.SOON.toSeconds(), TimeUnit.SECONDS)
                .join();
    }

    /**
     * Returns once the condition holds.
     *
     * @param told what is said when it does not hold within {@link Recorder#SOON}
     */
    public static void await(BooleanSupplier condition, Supplier<String> told) {
        long deadline = System.nanoTime() + Recorder.SOON.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("not in time: " + told.get());
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
    }
}
