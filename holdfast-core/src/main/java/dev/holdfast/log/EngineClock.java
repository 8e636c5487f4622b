package dev.holdfast.log;

import dev.holdfast.LogThrottle;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The monotonic clock that deadlines follow, and when this process last woke up. A client cannot come back to a machine that is
 * asleep, so that whoever waits for it waits anew from the awakening: a time that passes has to pass since then.
 *
 * <p>A process has been asleep where nobody has looked at the clock for half a minute, though the engine looks at each sweep (the
 * process was stopped), or where the wall clock is that much further than this one (the machine slept, or its clock was set).
 * Safe for use by any thread.
 */
public final class EngineClock {
    private static final Logger logger = LoggerFactory.getLogger(EngineClock.class);
    private static final Duration LEAST_SLEEP = Duration.ofSeconds(30);
    private static final int MISSED_LOOKS = 4;
    private static final int MILLIS_OF_SECOND = 1000;

    private final LongSupplier monotonic;
    private final InstantSource wall;
    private final long sleepNanos;
    private final LogThrottle lines;
    private volatile long lookedAt;
    private volatile long wokeAt;
    private long wallMillis;

    /**
     * @param between how long it is between two looks of the engine
     */
    public EngineClock(LongSupplier monotonic, InstantSource wall, Duration between) {
        this.monotonic = monotonic;
        this.wall = wall;
        this.sleepNanos = Math.max(LEAST_SLEEP.toNanos(), MISSED_LOOKS * between.toNanos());
        this.lines = new LogThrottle(1, monotonic);
        this.lookedAt = monotonic.getAsLong();
        this.wokeAt = lookedAt;
        this.wallMillis = wall.millis();
    }

    /** The monotonic clock, in nanoseconds; only differences mean something. */
    public long now() {
        long now = monotonic.getAsLong();
        return now - lookedAt < sleepNanos ? now : look();
    }

    /** Whether a time has passed since a moment during which this process could have served a client. */
    public boolean passed(long nanos, long since, long now) {
        return now - since >= nanos && now - wokeAt >= nanos;
    }

    /** Looks whether the process was asleep; returns the monotonic clock. */
    public synchronized long look() {
        long now = monotonic.getAsLong();
        long millis = wall.millis();
        long unseen = now - lookedAt;
        long ahead = TimeUnit.MILLISECONDS.toNanos(millis - wallMillis) - unseen;
        if (unseen >= sleepNanos || ahead >= sleepNanos) {
            wokeAt = now;
            Duration slept = Duration.ofNanos(Math.max(unseen, ahead + unseen));
            lines.write(more -> logger.info(
                    "the process did not run for some {} s, or the clock was set: sessions wait anew for their clients{}",
                    slept.toSeconds(),
                    more));
        }
        wallMillis = millis;
        lookedAt = now;
        return now;
    }

    /** A duration as people read it, without what is below a millisecond: {@code 1.5 s}, {@code 250 ms}, {@code 23 min 5 s}. */
    public static String text(Duration duration) {
        long millis = duration.toMillis();
        if (millis < MILLIS_OF_SECOND) {
            return millis == 0 ? "0 s" : millis + " ms";
        }
        StringBuilder text = new StringBuilder();
        add(text, duration.toHours(), " h");
        add(text, duration.toMinutesPart(), " min");
        int rest = duration.toSecondsPart() * MILLIS_OF_SECOND + duration.toMillisPart();
        if (rest > 0) {
            text.append(BigDecimal.valueOf(rest, 3).stripTrailingZeros().toPlainString())
                    .append(" s ");
        }
        return text.toString().strip();
    }

    private static void add(StringBuilder text, long count, String unit) {
        if (count > 0) {
            text.append(count).append(unit).append(' ');
        }
    }
}
