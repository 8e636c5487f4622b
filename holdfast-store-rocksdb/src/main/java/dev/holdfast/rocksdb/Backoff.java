package dev.holdfast.rocksdb;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** How long something is left alone that has failed: 250 ms at first, and twice as long after each further failure, up to 10 s. For one thread. */
final class Backoff {
    private static final long LEAST_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final LongSupplier clock;
    private long pause = LEAST_NANOS;
    private long notBefore;

    /** A first attempt need not wait. */
    Backoff(LongSupplier clock) {
        this.clock = clock;
        this.notBefore = clock.getAsLong();
    }

    /** Whether it is too early for an attempt. */
    boolean waits() {
        return clock.getAsLong() - notBefore < 0;
    }

    /** An attempt has ended now. */
    void attempted(boolean successful) {
        notBefore = clock.getAsLong() + (successful ? 0 : pause);
        pause = successful ? LEAST_NANOS : Math.min(2 * pause, MOST_NANOS);
    }
}
