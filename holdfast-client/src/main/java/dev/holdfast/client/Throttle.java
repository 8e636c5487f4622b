package dev.holdfast.client;

import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Runs a task at most once per interval. Requests within the interval are answered together, by one run at its end. Thread-safe. */
public final class Throttle {
    private final long leastNanos;
    private final Later later;
    private final Runnable task;
    private final AtomicBoolean asked = new AtomicBoolean();
    private volatile long doneAt;

    /** Runs a task once some milliseconds have passed. */
    @FunctionalInterface
    public interface Later {
        Future<?> run(long millis, Runnable task);
    }

    /**
     * A task that was not done yet.
     *
     * @param least the least time between one time and the next
     * @param task done on the thread that asks, or on one of {@code later}
     */
    public Throttle(Duration least, Later later, Runnable task) {
        this.leastNanos = least.toNanos();
        this.later = later;
        this.task = task;
        this.doneAt = System.nanoTime() - leastNanos;
    }

    /** Does it now or later. */
    public void ask() {
        if (!asked.compareAndSet(false, true)) {
            return;
        }
        long wait = leastNanos - (System.nanoTime() - doneAt);
        if (wait > 0) {
            try {
                Future<?> unused = later.run(TimeUnit.NANOSECONDS.toMillis(wait) + 1, this::now);
            } catch (RuntimeException e) {
                asked.set(false);
                throw e;
            }
        } else {
            now();
        }
    }

    private void now() {
        doneAt = System.nanoTime();
        asked.set(false);
        task.run();
    }
}
