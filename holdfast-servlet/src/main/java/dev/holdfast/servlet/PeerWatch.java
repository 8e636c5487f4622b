package dev.holdfast.servlet;

import jakarta.servlet.http.HttpServletRequest;

/**
 * Notices at once that the peer has ended the connection under a request. The Servlet API tells of it only where somebody reads or
 * writes, which on a silent stream is the next heartbeat; a container that knows it earlier is asked through this.
 */
@FunctionalInterface
public interface PeerWatch {
    /** Leaves it to the next heartbeat. */
    PeerWatch NONE = (request, ended) -> {};

    /**
     * Watches the connection under a request while its response is being written.
     *
     * @param request a request without a body, which is being handled
     * @param ended run when the peer has closed or reset the connection, on a thread that may block; once at most, and not after the
     *     response is complete
     */
    void watch(HttpServletRequest request, Runnable ended);
}
