package dev.holdfast.gateway.http;

import dev.holdfast.servlet.PeerWatch;
import jakarta.servlet.http.HttpServletRequest;
import org.eclipse.jetty.ee11.servlet.ServletContextRequest;

/** Notices the end of a connection by its peer, where the connection is of our own server. */
public final class JettyPeerWatch implements PeerWatch {
    @Override
    public void watch(HttpServletRequest request, Runnable ended) {
        if (ServletContextRequest.getServletContextRequest(request)
                        .getConnectionMetaData()
                        .getConnection()
                        .getEndPoint()
                instanceof WatchedEndPoint connection) {
            connection.watch(ended);
        }
    }
}
