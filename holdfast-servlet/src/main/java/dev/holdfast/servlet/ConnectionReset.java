package dev.holdfast.servlet;

import jakarta.servlet.http.HttpServletRequest;

/**
 * Knows how to reset the transport connection under a request. The Servlet API has no way to do so, and completing a response
 * does not free the socket of a peer that stopped reading; a container that can is asked through this.
 */
@FunctionalInterface
public interface ConnectionReset {
    /** Leaves stuck sockets to the container's own timeouts. */
    ConnectionReset NONE = request -> () -> {};

    /**
     * Takes hold of the connection under a request while the request is being handled.
     *
     * @return resets that connection, from any thread; run at most once, before the response is completed
     */
    Runnable of(HttpServletRequest request);
}
