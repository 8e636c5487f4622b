package dev.holdfast;

import dev.holdfast.spi.OutboundMessage;

/** How opening a session ended. */
public sealed interface Opening permits Opening.Opened, Opening.Awaiting, Opening.Refused, Unavailable {
    /**
     * The session is there.
     *
     * @param session the session
     * @param response the {@code initialize} response for the client
     */
    record Opened(Session session, OutboundMessage response) implements Opening {}

    /**
     * The session is there, and its client has to initialize it.
     *
     * @param session the session
     */
    record Awaiting(Session session) implements Opening {}

    /**
     * The backend refused; nothing is left of it.
     *
     * @param response the error response for the client
     */
    record Refused(OutboundMessage response) implements Opening {}
}
