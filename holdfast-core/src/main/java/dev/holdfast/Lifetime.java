package dev.holdfast;

import java.time.Duration;

/**
 * How long a session, and what belongs to it, lives; a value of each session, so that sessions of different kinds can differ.
 *
 * @param grace how long a session whose last connection broke waits for the next; zero closes it at once. Default 30 minutes
 * @param idle how long a session waits whose last connection ended in order, zero and up; where it was ended so that the client comes
 *     back, the longer of this and {@code grace}. Default 30 minutes
 * @param retention how long a response is kept after its connection ended in order, zero and up, unless a limit needs the room or the
 *     client confirms it earlier. Default 60 seconds
 * @param initialization how long a session waits for the first request that names it, if that is shorter; over HTTP+SSE, how
 *     long it waits for its {@code initialize}, attached or not; at least 1 ms. Default 60 seconds
 * @param call how long a call may run, at least 1 ms; then its client gets an error, and the backend is told to stop. Default 1 hour
 */
public record Lifetime(Duration grace, Duration idle, Duration retention, Duration initialization, Duration call) {
    private static final Duration INITIALIZATION = Duration.ofSeconds(60);
    private static final Duration CALL = Duration.ofHours(1);

    /** The defaults named above. */
    public static final Lifetime DEFAULT =
            new Lifetime(Duration.ofMinutes(30), Duration.ofMinutes(30), Duration.ofSeconds(60));

    /** Longer than any process lives, and short enough to add to a clock reading. */
    private static final Duration FOR_EVER = Duration.ofDays(36_500);

    public Lifetime {
        Range.require("grace", grace, Duration.ZERO);
        Range.require("idle", idle, Duration.ZERO);
        Range.require("retention", retention, Duration.ZERO);
        Range.require("initialization", initialization, Duration.ofMillis(1));
        Range.require("call", call, Duration.ofMillis(1));
    }

    /** With the other two as by default. */
    public Lifetime(Duration grace, Duration idle, Duration retention) {
        this(grace, idle, retention, INITIALIZATION, CALL);
    }

    /** The same with another grace period. */
    public Lifetime withGrace(Duration other) {
        return new Lifetime(other, idle, retention, initialization, call);
    }

    /** The same with another idle timeout. */
    public Lifetime withIdle(Duration other) {
        return new Lifetime(grace, other, retention, initialization, call);
    }

    /** The same with another retention. */
    public Lifetime withRetention(Duration other) {
        return new Lifetime(grace, idle, other, initialization, call);
    }

    /** The same with another time for {@code initialize}. */
    public Lifetime withInitialization(Duration other) {
        return new Lifetime(grace, idle, retention, other, call);
    }

    /** The same with another time for calls. */
    public Lifetime withCall(Duration other) {
        return new Lifetime(grace, idle, retention, initialization, other);
    }

    /** {@link #grace} in nanoseconds; what is longer than 36,500 days counts as that. */
    public long graceNanos() {
        return nanos(grace);
    }

    /** {@link #idle} in nanoseconds; what is longer than 36,500 days counts as that. */
    public long idleNanos() {
        return nanos(idle);
    }

    /** How long a session may wait at most. */
    public long longestNanos() {
        return Math.max(graceNanos(), idleNanos());
    }

    /** {@link #retention} in nanoseconds; what is longer than 36,500 days counts as that. */
    public long retentionNanos() {
        return nanos(retention);
    }

    /** {@link #initialization} in nanoseconds; what is longer than 36,500 days counts as that. */
    public long initializationNanos() {
        return nanos(initialization);
    }

    /** {@link #call} in nanoseconds; what is longer than 36,500 days counts as that. */
    public long callNanos() {
        return nanos(call);
    }

    private static long nanos(Duration duration) {
        return duration.compareTo(FOR_EVER) < 0 ? duration.toNanos() : FOR_EVER.toNanos();
    }
}
