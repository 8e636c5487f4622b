package dev.holdfast.spi;

/** Writes the few JSON-RPC messages that the engine itself has to say; the engine knows no JSON. */
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
}
