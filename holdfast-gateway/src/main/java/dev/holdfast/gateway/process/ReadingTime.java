package dev.holdfast.gateway.process;

import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Measures the time in which a child's output is read. It pauses while the reader waits for room or for the store, since the child is not
 * to blame for its silence then. One thread pauses it, any may ask.
 */
final class ReadingTime {
    /** Between two looks at a time that may be paused. */
    private static final long LEAST_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final LongSupplier clock;
    private long passed;
    private long since;
    private boolean paused;

    /** Begins to run, by a monotonic clock in nanoseconds. */
    ReadingTime(LongSupplier clock) {
        this.clock = clock;
        this.since = clock.getAsLong();
    }

    /** Waits for something, and pauses meanwhile. */
    void pauseDuring(Runnable wait) {
        pause(true);
        try {
            wait.run();
        } finally {
            pause(false);
        }
    }

    private synchronized void pause(boolean begins) {
        passed = nanos();
        since = clock.getAsLong();
        paused = begins;
    }

    /** How much has passed. */
    synchronized long nanos() {
        return paused ? passed : passed + clock.getAsLong() - since;
    }

    /**
     * Runs a task on the executor when so much of this time has passed.
     *
     * @return cancels the task until so much has passed on the timer
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
