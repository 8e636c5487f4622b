package dev.holdfast.benchmarks.server;

import dev.holdfast.servlet.ConnectionReset;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import org.eclipse.jetty.ee11.servlet.ServletContextRequest;
import org.eclipse.jetty.io.EndPoint;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Resets a connection of Jetty, in the way the gateway does. */
final class JettyReset implements ConnectionReset {
    private static final Logger log = LoggerFactory.getLogger(JettyReset.class);

    @Override
    public Runnable of(HttpServletRequest request) {
        EndPoint endPoint = ServletContextRequest.getServletContextRequest(request)
                .getConnectionMetaData()
                .getConnection()
                .getEndPoint();
        return () -> {
            if (endPoint.getTransport() instanceof SocketChannel channel) {
                try {
                    channel.setOption(StandardSocketOptions.SO_LINGER, 0);
                } catch (IOException e) {
                    log.warn("a connection was closed before it could be reset: {}", e.toString());
                }
            }
            endPoint.close();
        };
    }
}
