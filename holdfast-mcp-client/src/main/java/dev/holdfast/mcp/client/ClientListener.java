package dev.holdfast.mcp.client;

import java.time.Duration;

/**
 * Hears what happens to the connections of one {@link HoldfastClientTransport}. Called by any thread, which it must not block; what it
 * throws is logged and changes nothing.
 */
public interface ClientListener {
    /** Hears nothing. */
    ClientListener NONE = new ClientListener() {};

    /** The server cannot be reached, or a stream broke. What was lost is brought back from now on. Told once for each outage. */
    default void onReconnecting(Throwable cause) {}

    /**
     * Everything that was broken is back; or it was given up, and the server has been reached again. Not told where
     * {@link #onSessionReplaced} is told instead.
     */
    default void onResumed(Duration away) {}

    /**
     * Notifications that belong to no request are missing, or may be: the server gives no event ids, or has dropped what came after
     * the last one. The application also gets {@code list_changed} for each list whose changes the server promised to tell, and
     * {@code notifications/resources/updated} for each resource that it subscribed to.
     */
    default void onGap() {}

    /**
     * The server had lost the session, and another one has taken its place: begun with the first {@code initialize}, with log level
     * and subscriptions restored. The application gets the same notifications as after a gap.
     */
    default void onSessionReplaced() {}
}
