package dev.holdfast.client;

import java.time.Duration;

/**
 * How long a client tries, and how much it takes.
 *
 * @param retryTimeout for how long a message is tried to be sent, and a broken stream to be resumed, zero and up; more than 36,500 days
 *     count as that
 * @param inFlight so many requests of one session may wait for their responses, at least 1
 * @param messageBytes so many bytes a message of the server may have, at least 1
 * @param silence how long a connection may be silent before it counts as broken, zero and up, and no more than 36,500 days either;
 *     zero: as the server's heartbeats teach
 * @param resumable whether streams are resumed by the ids of their events
 */
public record ClientLimits(Duration retryTimeout, int inFlight, int messageBytes, Duration silence, boolean resumable) {
    /** Longer than any process lives, and short enough to add to a clock reading. */
    private static final Duration LONGEST = Duration.ofDays(36_500);

    /** 2 minutes, 1,000 requests, 16 MiB, by the heartbeats, and resumable. */
    public static final ClientLimits DEFAULT =
            new ClientLimits(Duration.ofMinutes(2), 1_000, 16 << 20, Duration.ZERO, true);

    public ClientLimits {
        // named as applications know them
        retryTimeout = requireTime("patience", retryTimeout);
        silence = requireTime("maxSilence", silence);
        requirePositive("maxInFlight", inFlight);
        requirePositive("maxResponseSize", messageBytes);
    }

    private static Duration requireTime(String name, Duration value) {
        if (value.isNegative()) {
            throw new IllegalArgumentException(name + " must not be negative, got " + value);
        }
        return value.compareTo(LONGEST) < 0 ? value : LONGEST;
    }

    private static void requirePositive(String name, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + " must be at least 1, got " + value);
        }
    }

    /** The same with another retry timeout. */
    public ClientLimits withRetryTimeout(Duration other) {
        return new ClientLimits(other, inFlight, messageBytes, silence, resumable);
    }

    /** The same with another number of requests in flight. */
    public ClientLimits withInFlight(int other) {
        return new ClientLimits(retryTimeout, other, messageBytes, silence, resumable);
    }

    /** The same with another size of messages. */
    public ClientLimits withMessageBytes(int other) {
        return new ClientLimits(retryTimeout, inFlight, other, silence, resumable);
    }

    /** The same with another limit of silence. */
    public ClientLimits withSilence(Duration other) {
        return new ClientLimits(retryTimeout, inFlight, messageBytes, other, resumable);
    }

    /** The same with streams that are resumed, or are not. */
    public ClientLimits withResumable(boolean other) {
        return new ClientLimits(retryTimeout, inFlight, messageBytes, silence, other);
    }
}
