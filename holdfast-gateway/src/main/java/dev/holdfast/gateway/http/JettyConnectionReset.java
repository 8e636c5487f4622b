package dev.holdfast.gateway.http;

import dev.holdfast.servlet.ConnectionReset;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import org.eclipse.jetty.ee11.servlet.ServletContextRequest;
import org.eclipse.jetty.io.EndPoint;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Resets a connection of Jetty. Closing alone would leave it to the kernel to offer the bytes of a stuck peer again and again,
 * for more than a minute; with a linger time of zero it drops them and sends RST.
 */
public final class JettyConnectionReset implements ConnectionReset {
    private static final Logger log = LoggerFactory.getLogger(JettyConnectionReset.class);

    @Override
    public Runnable of(HttpServletRequest request) {
        EndPoint endPoint = ServletContextRequest.getServletContextRequest(request)
                .getConnectionMetaData()
                .getConnection()
                .getEndPoint();
        return () -> reset(endPoint);
    }

    private static void reset(EndPoint endPoint) {
        try {
            if (endPoint.getTransport() instanceof SocketChannel channel) {
                channel.setOption(StandardSocketOptions.SO_LINGER, 0);
            }
        } catch (IOException e) {
            log.debug("a connection was closed before it could be reset: {}", e.toString());
        }
        // Closes the channel and wakes its selector, without which the close would wait for the selector's next turn.
        endPoint.close();
    }
}
