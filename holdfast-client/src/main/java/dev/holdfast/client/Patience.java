package dev.holdfast.client;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;

/**
 * When to try again what has failed: first after 100 ms or as the server states, then after twice as long each time, up to 10 s,
 * each spread by up to a fifth; for as long as the patience lasts since the first failure in a row. For one thread at a time.
 */
final class Patience {
    private static final long FIRST = 100;
    private static final long LONGEST = 10_000;
    private static final double SPREAD = 0.2;

    private final long nanos;
    private final DoubleSupplier random;
    private final LongSupplier clock;
    private int failures;
    private long since;

    Patience(Duration patience, DoubleSupplier random, LongSupplier clock) {
        this.nanos = patience.toNanos();
        this.random = random;
        this.clock = clock;
    }

    /** What was tried has succeeded. */
    void succeeded() {
        failures = 0;
    }

    /**
     * Says in how many milliseconds to try again; empty once that would be too late.
     *
     * @param stated what the server said to wait at least, 0 if nothing
     */
    OptionalLong failed(long stated) {
        long now = clock.getAsLong();
        if (failures == 0) {
            since = now;
        }
        long first = Math.max(FIRST, stated);
        long doubled = first << Math.min(failures, Integer.SIZE - 1);
        long wait = Math.max(stated, Math.min(doubled <= 0 ? LONGEST : doubled, LONGEST));
        failures++;
        wait += (long) (wait * SPREAD * random.getAsDouble());
        long spent = TimeUnit.NANOSECONDS.toMillis(now - since);
        return spent + wait > TimeUnit.NANOSECONDS.toMillis(nanos) ? OptionalLong.empty() : OptionalLong.of(wait);
    }
}
