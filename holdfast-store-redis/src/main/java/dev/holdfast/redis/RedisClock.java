package dev.holdfast.redis;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The time of Redis, by which sessions expire and leases lapse: what it said last, carried on by the monotonic clock of this machine.
 * The wall clock of this machine is only compared with it. Safe for use by any thread.
 */
final class RedisClock implements InstantSource {
    private static final Logger logger = LoggerFactory.getLogger(RedisClock.class);
    private static final long MOST_DIFFERENCE_MILLIS = 10_000;

    private final String shown;
    private final InstantSource wall;
    private final OutageLog difference = new OutageLog();
    private volatile Said said;

    /** What Redis said, and when by the monotonic clock of this machine. */
    private record Said(long millis, long nanos) {}

    /** Redis has just said this. */
    RedisClock(String shown, InstantSource wall, long millis) {
        this.shown = shown;
        this.wall = wall;
        this.said = new Said(millis, System.nanoTime());
        compare(millis);
    }

    /** Redis has said this a moment ago. */
    void follow(long millis) {
        said = new Said(millis, System.nanoTime());
        compare(millis);
    }

    private void compare(long millis) {
        long ahead = wall.millis() - millis;
        if (Math.abs(ahead) <= MOST_DIFFERENCE_MILLIS) {
            difference.over(() -> logger.info("the clock of this machine agrees with that of {} again", shown));
        } else {
            difference.begun(() -> logger.warn(
                    "the clock of this machine is {} s {} that of {}, by which sessions expire: set one of them right",
                    Duration.ofMillis(Math.abs(ahead)).toSeconds(),
                    ahead > 0 ? "ahead of" : "behind",
                    shown));
        }
    }

    @Override
    public Instant instant() {
        return Instant.ofEpochMilli(millis());
    }

    @Override
    public long millis() {
        Said last = said;
        return last.millis + Duration.ofNanos(System.nanoTime() - last.nanos).toMillis();
    }
}
