package dev.holdfast.spi;

import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The clock by which a store decides whether a session has expired: the wall clock of the moment at which the store was opened,
 * carried on by a monotonic clock. A wall clock that is moved forward, or that has gone on while the machine slept, ends no
 * session of a process that lives; one that is moved back is followed, so that this clock is never ahead of it.
 *
 * <p>An engine writes {@link SessionRecord#expiresAt} by the wall clock and renews it when the two disagree: the next process
 * judges by the wall clock of its own start. Safe for use by any thread.
 */
public final class ExpiryClock implements InstantSource {
    private final InstantSource wall;
    private final LongSupplier monotonic;
    private final long startedAt;
    /** The wall clock at the start, in milliseconds, or what it would have been had it always shown the time it was set back to. */
    private volatile long origin;

    /** Follows the clocks of the system. */
    public ExpiryClock() {
        this(InstantSource.system(), System::nanoTime);
    }

    /**
     * Follows two clocks of the caller's.
     *
     * @param wall the wall clock
     * @param monotonic nanoseconds that only grow, like {@link System#nanoTime}
     */
    public ExpiryClock(InstantSource wall, LongSupplier monotonic) {
        this.wall = wall;
        this.monotonic = monotonic;
        this.startedAt = monotonic.getAsLong();
        this.origin = wall.millis();
    }

    @Override
    public Instant instant() {
        return Instant.ofEpochMilli(millis());
    }

    @Override
    public long millis() {
        long ran = TimeUnit.NANOSECONDS.toMillis(monotonic.getAsLong() - startedAt);
        long now = wall.millis();
        if (now - ran < origin) {
            origin = now - ran;
        }
        return origin + ran;
    }
}
