package dev.holdfast.gateway.http;

import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.ee11.servlet.ServletContextRequest;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http2.ErrorCode;
import org.eclipse.jetty.http2.HTTP2Connection;
import org.eclipse.jetty.http2.api.Stream;
import org.eclipse.jetty.http2.frames.ResetFrame;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.FillInterest;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Scheduler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A connection whose clear text a {@link ConnectionWatch} sees: its own, or that of the TLS on it. */
public final class WatchedEndPoint extends SocketChannelEndPoint implements ConnectionWatch.Watched {
    private static final Logger log = LoggerFactory.getLogger(WatchedEndPoint.class);
    private static final long LOOK_MILLIS = 500;

    private final ConnectionWatch own = new ConnectionWatch(new ConnectionWatch.Source() {
        @Override
        public int fill(ByteBuffer buffer) throws IOException {
            return WatchedEndPoint.super.fill(buffer);
        }

        @Override
        public void fillInterested(Callback callback) {
            WatchedEndPoint.super.fillInterested(callback);
        }

        @Override
        public boolean tryFillInterested(Callback callback) {
            return WatchedEndPoint.super.tryFillInterested(callback);
        }

        @Override
        public FillInterest interest() {
            return getFillInterest();
        }
    });
    /** Sees heads come in. */
    private volatile ConnectionWatch heads = own;

    private WatchedEndPoint(SocketChannel channel, ManagedSelector selector, SelectionKey key, Scheduler scheduler) {
        super(channel, selector, key, scheduler);
    }

    /** A connector with such connections, of HTTP/1 or also of what else is said. */
    static ServerConnector connector(
            Server server, HttpConfiguration http, Duration headLimit, Optional<TlsFiles> certificate) {
        HttpConnectionFactory plain = new HttpConnectionFactory(http);
        ConnectionFactory[] protocols = certificate
                .map(files -> SecuredConnections.protocols(files.context(), http, plain))
                .orElse(new ConnectionFactory[] {plain});
        Connector connector = new Connector(server, headLimit, protocols);
        http.addCustomizer(connector);
        return connector;
    }

    private static final class Connector extends ServerConnector implements HttpConfiguration.Customizer {
        private final long headNanos;

        private Connector(Server server, Duration headLimit, ConnectionFactory... protocols) {
            super(server, protocols);
            this.headNanos = headLimit.toNanos();
        }

        @Override
        protected SocketChannelEndPoint newEndPoint(SocketChannel channel, ManagedSelector selector, SelectionKey key) {
            WatchedEndPoint connection = new WatchedEndPoint(channel, selector, key, getScheduler());
            connection.setIdleTimeout(getIdleTimeout());
            return connection;
        }

        @Override
        protected void doStart() throws Exception {
            super.doStart();
            lookLater();
        }

        private void lookLater() {
            getScheduler().schedule(this::look, LOOK_MILLIS, TimeUnit.MILLISECONDS);
        }

        private void look() {
            if (!isRunning()) {
                return;
            }
            long now = System.nanoTime();
            for (EndPoint connection : getConnectedEndPoints()) {
                if (connection instanceof WatchedEndPoint watched && watched.heads.headTakes(now) >= headNanos) {
                    log.debug("a connection took too long for the head of a request");
                    watched.close();
                }
            }
            lookLater();
        }

        /** Called when a head is whole. */
        @Override
        public Request customize(Request request, HttpFields.Mutable responseHeaders) {
            Connection connection = request.getConnectionMetaData().getConnection();
            if (connection.getEndPoint() instanceof ConnectionWatch.Watched watched) {
                ConnectionWatch watch = watched.watch();
                watch.begin(request, connection instanceof HTTP2Connection);
                Request.addCompletionListener(request, failure -> watch.end(request));
            }
            return request;
        }
    }

    /** From here on the heads come in TLS, whose handshake is over. */
    void securedBy(ConnectionWatch secured) {
        heads = secured;
    }

    @Override
    public ConnectionWatch watch() {
        return own;
    }

    /**
     * Runs something when the peer ends the connection of a request: see {@link dev.holdfast.servlet.PeerWatch}. On one of HTTP/2, which
     * Jetty always reads, Jetty tells that itself.
     */
    public static void watchPeer(HttpServletRequest request, Runnable ended) {
        Connection connection = of(request).getConnectionMetaData().getConnection();
        if (!(connection instanceof HTTP2Connection)
                && connection.getEndPoint() instanceof ConnectionWatch.Watched watched) {
            watched.watch().begin(ended);
        }
    }

    /**
     * Resets the connection of a request, or its stream where others share that: see {@link dev.holdfast.servlet.ConnectionReset}. Closing
     * alone would leave it to the kernel to offer the bytes of a stuck peer again and again, for more than a minute; with a linger time of
     * zero it drops them and sends RST.
     */
    public static Runnable connectionReset(HttpServletRequest request) {
        Request core = of(request);
        Connection connection = core.getConnectionMetaData().getConnection();
        if (connection instanceof HTTP2Connection shared) {
            int number = Integer.parseInt(core.getId());
            Optional<Stream> stream = Optional.ofNullable(shared.getSession().getStream(number));
            ResetFrame reset = new ResetFrame(number, ErrorCode.CANCEL_STREAM_ERROR.code);
            return () -> stream.ifPresent(its -> its.reset(reset, Callback.NOOP));
        }
        EndPoint socket = connection.getEndPoint() instanceof EndPoint.Wrapper secured
                ? secured.unwrap()
                : connection.getEndPoint();
        return () -> {
            try {
                if (socket.getTransport() instanceof SocketChannel channel) {
                    channel.setOption(StandardSocketOptions.SO_LINGER, 0);
                }
            } catch (IOException e) {
                log.debug("a connection was closed before it could be reset: {}", e.toString());
            }
            // closes the channel and wakes its selector, without which the close would wait for the selector's next
            // turn
            socket.close();
        };
    }

    private static Request of(HttpServletRequest request) {
        return ServletContextRequest.getServletContextRequest(request);
    }

    @Override
    public int fill(ByteBuffer buffer) throws IOException {
        return own.fill(buffer);
    }

    @Override
    public void fillInterested(Callback callback) {
        own.fillInterested(callback);
    }

    @Override
    public boolean tryFillInterested(Callback callback) {
        return own.tryFillInterested(callback);
    }

    @Override
    public boolean isFillInterested() {
        return own.isFillInterested();
    }
}
