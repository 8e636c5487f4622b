package dev.holdfast;

import java.time.Duration;

/**
 * How long a session lives without a connection; a value of each session, so that sessions of different kinds can differ.
 *
 * @param grace how long a session whose last connection broke waits for the next; zero closes it at once. Default 30 minutes
 * @param idle how long a session waits whose last connection ended in order. Default 30 minutes
 * @param retention how long a response is kept after its connection ended in order, unless a limit needs the room or the
 *     client confirms it earlier. Default 60 seconds
 */
public record Lifetime(Duration grace, Duration idle, Duration retention) {
    /** 30 minutes of grace, 30 minutes idle, 60 seconds of retention. */
    public static final Lifetime DEFAULT =
            new Lifetime(Duration.ofMinutes(30), Duration.ofMinutes(30), Duration.ofSeconds(60));

    /** Longer than any process lives, and short enough to add to a clock reading. */
    private static final Duration FOR_EVER = Duration.ofDays(36_500);

    public Lifetime {
        requireNotNegative("grace", grace);
        requireNotNegative("idle", idle);
        requireNotNegative("retention", retention);
    }

    /** The same with another grace period. */
    public Lifetime withGrace(Duration other) {
        return new Lifetime(other, idle, retention);
    }

    /** The same with another idle timeout. */
    public Lifetime withIdle(Duration other) {
        return new Lifetime(grace, other, retention);
    }

    /** The same with another retention. */
    public Lifetime withRetention(Duration other) {
        return new Lifetime(grace, idle, other);
    }

    long graceNanos() {
        return nanos(grace);
    }

    long idleNanos() {
        return nanos(idle);
    }

    long retentionNanos() {
        return nanos(retention);
    }

    private static long nanos(Duration duration) {
        return duration.compareTo(FOR_EVER) < 0 ? duration.toNanos() : FOR_EVER.toNanos();
    }

    private static void requireNotNegative(String name, Duration value) {
        if (value.isNegative()) {
            throw new IllegalArgumentException(name + " must not be negative, got " + value);
        }
    }
}
