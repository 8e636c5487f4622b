package dev.holdfast.gateway.process;

import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The time in which a child's reader reads, or waits for the child. It stands still while the reader waits for room or for the store:
 * then the silence of a child is not its fault. One thread makes it stand still, any may ask.
 */
final class ReadingTime {
    /** Between two looks at a time that may stand still. */
    private static final long LEAST_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final LongSupplier clock;
    private long passed;
    private long since;
    private boolean stands;

    /**
     * A time that begins to run.
     *
     * @param clock monotonic nanoseconds, like {@link System#nanoTime}
     */
    ReadingTime(LongSupplier clock) {
        this.clock = clock;
        this.since = clock.getAsLong();
    }

    /** Waits for something, while no time passes. */
    void standsDuring(Runnable wait) {
        stand(true);
        try {
            wait.run();
        } finally {
            stand(false);
        }
    }

    private synchronized void stand(boolean still) {
        passed = nanos();
        since = clock.getAsLong();
        stands = still;
    }

    /** How much has passed. */
    synchronized long nanos() {
        return stands ? passed : passed + clock.getAsLong() - since;
    }

    /**
     * Does something when so much of this time has passed.
     *
     * @param executor where it is done; the clock does nothing that may block
     * @return cancels the first look at this time, by which most are over
     */
    Future<?> after(Duration delay, Runnable work, ScheduledExecutorService timer, Executor executor) {
        return when(nanos() + delay.toNanos(), work, timer, executor);
    }

    private Future<?> when(long due, Runnable work, ScheduledExecutorService timer, Executor executor) {
        Runnable look = () -> {
            if (nanos() >= due) {
                executor.execute(work);
            } else {
                Future<?> unused = when(due, work, timer, executor);
            }
        };
        return timer.schedule(look, Math.max(due - nanos(), LEAST_NANOS), TimeUnit.NANOSECONDS);
    }
}
