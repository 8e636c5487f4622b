package dev.holdfast.spi;

import java.util.OptionalDouble;

/** Writes and reads the few JSON-RPC messages that the engine itself is concerned with; the engine knows no JSON. */
public interface MessageFactory {
    /**
     * Returns the error response to a request.
     *
     * @param code a JSON-RPC error code
     * @param message what went wrong, in words for the client
     */
    OutboundMessage error(RequestId id, int code, String message);

    /** Returns {@code notifications/cancelled} for a server-to-client request that nobody waits for any more. */
    OutboundMessage cancelled(RequestId id, String reason);

    /**
     * Reads a message of the client back from where the store has kept it.
     *
     * @param message the bytes of a request or notification that was once taken
     * @throws IllegalArgumentException if it is neither
     */
    InboundMessage read(byte[] message);

    /** How far a {@code notifications/progress} says that its call is; empty if it does not say. */
    OptionalDouble progress(byte[] notification);
}
