package dev.holdfast.client;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * When to try again what has failed: first after about 100 ms or as the server states, then after twice as long each time, up to 10 s,
 * each spread by half; until a timeout that begins with the first failure in a row. For one thread at a time.
 */
public final class RetryPolicy {
    private static final long FIRST = 100;
    private static final long LONGEST = 10_000;
    private static final int MOST_DOUBLINGS = 20;
    private static final int DOUBLINGS_IN_VAIN = 3;

    private final Supplier<Duration> timeout;
    private final DoubleSupplier random;
    private final LongSupplier clock;
    private int failures;
    private int inVain;
    private long since;

    /**
     * A policy before the first attempt.
     *
     * @param timeout for how long it is tried again; asked at each failure
     * @param random numbers from 0 to 1
     * @param clock monotonic, in nanoseconds
     */
    public RetryPolicy(Supplier<Duration> timeout, DoubleSupplier random, LongSupplier clock) {
        this.timeout = timeout;
        this.random = random;
        this.clock = clock;
    }

    /** What was tried has succeeded. */
    public void succeeded() {
        failures = 0;
        inVain = 0;
    }

    /**
     * What was tried has worked, and the server says when to ask it again, which is never too late. Says in how many milliseconds:
     * in vain it is asked less and less often, up to about once a second more than stated. The timeout begins with the next failure.
     *
     * @param stated what the server said to wait at least
     * @param broughtAny whether it brought anything
     */
    public long polled(long stated, boolean broughtAny) {
        int doublings = broughtAny ? 0 : Math.min(inVain, DOUBLINGS_IN_VAIN);
        inVain = broughtAny ? 0 : doublings + 1;
        failures = 0;
        long pause = FIRST << doublings;
        return Math.max(stated, pause / 2) + (long) (pause * random.getAsDouble());
    }

    /**
     * Says in how many milliseconds to try again; empty once that would be too late.
     *
     * @param stated what the server said to wait at least, 0 if nothing
     */
    public OptionalLong failed(long stated) {
        long now = clock.getAsLong();
        if (failures == 0) {
            since = now;
        }
        long doubled = Math.max(FIRST, stated) << Math.min(failures, MOST_DOUBLINGS);
        long wait = Math.min(doubled, LONGEST);
        wait = Math.max(stated, wait / 2) + (long) (wait * random.getAsDouble());
        long left = TimeUnit.NANOSECONDS.toMillis(timeout.get().toNanos() - (now - since));
        // what the server wants is tried at least once, though that takes longer than the timeout
        if (failures++ == 0 && left > 0) {
            return OptionalLong.of(Math.min(wait, left));
        }
        return wait > left ? OptionalLong.empty() : OptionalLong.of(wait);
    }
}
