package dev.holdfast.client;

import java.time.Duration;

/**
 * How long a client tries, and how much it takes.
 *
 * @param patience for how long a message is tried to be sent, and a broken stream to be resumed
 * @param inFlight so many requests of one session may wait for their responses, at least 1
 * @param messageBytes so many bytes a message of the server may have, at least 1
 * @param silence how long a connection may be silent before it counts as broken; zero: as the server's heartbeats teach
 * @param resumable whether streams are resumed by the ids of their events
 */
public record ClientLimits(Duration patience, int inFlight, int messageBytes, Duration silence, boolean resumable) {
    /** 2 minutes, 1,000 requests, 16 MiB, by the heartbeats, and resumable. */
    public static final ClientLimits DEFAULT =
            new ClientLimits(Duration.ofMinutes(2), 1_000, 16 << 20, Duration.ZERO, true);

    public ClientLimits {
        if (patience.isNegative() || silence.isNegative()) {
            throw new IllegalArgumentException("a time below zero: patience " + patience + ", silence " + silence);
        }
        if (inFlight < 1 || messageBytes < 1) {
            throw new IllegalArgumentException(
                    "a bound below 1: " + inFlight + " requests in flight, " + messageBytes + " bytes of a message");
        }
    }

    /** The same with another patience. */
    public ClientLimits withPatience(Duration other) {
        return new ClientLimits(other, inFlight, messageBytes, silence, resumable);
    }

    /** The same with another number of requests in flight. */
    public ClientLimits withInFlight(int other) {
        return new ClientLimits(patience, other, messageBytes, silence, resumable);
    }

    /** The same with another size of messages. */
    public ClientLimits withMessageBytes(int other) {
        return new ClientLimits(patience, inFlight, other, silence, resumable);
    }

    /** The same with another limit of silence. */
    public ClientLimits withSilence(Duration other) {
        return new ClientLimits(patience, inFlight, messageBytes, other, resumable);
    }

    /** The same with streams that are resumed, or are not. */
    public ClientLimits withResumable(boolean other) {
        return new ClientLimits(patience, inFlight, messageBytes, silence, other);
    }
}
