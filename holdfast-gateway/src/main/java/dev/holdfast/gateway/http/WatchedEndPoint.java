package dev.holdfast.gateway.http;

import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.eclipse.jetty.ee11.servlet.ServletContextRequest;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Scheduler;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection of HTTP/1 that notices two things which Jetty does not.
 *
 * <p>Its peer ends it while a response is written. As long as a request is served, Jetty does not read, and hears of the end only when it
 * writes. The watch reads when there is something to read. If those are bytes, a next request, they are kept for Jetty, and the watch is
 * over; it is also over as soon as Jetty wants to read again.
 *
 * <p>A head takes too long, from its first byte on. Jetty's idle timeout begins again with every byte, so that a client which drips would
 * keep its connection for ever. For as long as no byte comes, a connection is left to the idle timeout.
 */
public final class WatchedEndPoint extends SocketChannelEndPoint {
    private static final Logger log = LoggerFactory.getLogger(WatchedEndPoint.class);
    private static final int AHEAD_BYTES = 1024;
    private static final long LOOK_MILLIS = 500;

    private final ReentrantLock reading = new ReentrantLock();
    /** Runs when the peer ends the connection; changed under the lock. */
    private volatile Optional<Runnable> watch = Optional.empty();

    private ByteBuffer ahead = BufferUtil.EMPTY_BUFFER;
    /** The request that is served; null while the next one is awaited. */
    private @Nullable Request served;
    /** Whether a part of the next head is there, and since when. */
    private boolean headBegun;

    private long headSince;

    private WatchedEndPoint(SocketChannel channel, ManagedSelector selector, SelectionKey key, Scheduler scheduler) {
        super(channel, selector, key, scheduler);
    }

    /** A connector with such connections. */
    static ServerConnector connector(Server server, HttpConfiguration http, Duration headLimit) {
        Connector connector = new Connector(server, new HttpConnectionFactory(http), headLimit);
        http.addCustomizer(connector);
        return connector;
    }

    private static final class Connector extends ServerConnector implements HttpConfiguration.Customizer {
        private final long headNanos;

        private Connector(Server server, HttpConnectionFactory protocol, Duration headLimit) {
            super(server, protocol);
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
                if (connection instanceof WatchedEndPoint watched && watched.headTakes(now) >= headNanos) {
                    log.debug("a connection took too long for the head of a request");
                    watched.close();
                }
            }
            lookLater();
        }

        /** Called when a head is whole. */
        @Override
        public Request customize(Request request, HttpFields.Mutable responseHeaders) {
            if (request.getConnectionMetaData().getConnection().getEndPoint() instanceof WatchedEndPoint connection) {
                connection.begin(request);
                Request.addCompletionListener(request, failure -> connection.end(request));
            }
            return request;
        }
    }

    /** How long the head that is coming in has taken; zero if there is none. */
    private long headTakes(long now) {
        reading.lock();
        try {
            return headBegun ? now - headSince : 0;
        } finally {
            reading.unlock();
        }
    }

    private void begin(Request request) {
        reading.lock();
        try {
            served = request;
            headBegun = false;
        } finally {
            reading.unlock();
        }
    }

    /** A request is over; that comes too late if another one has begun. */
    private void end(Request request) {
        reading.lock();
        try {
            served = request.equals(served) ? null : served;
        } finally {
            reading.unlock();
        }
    }

    /** Runs something when the peer ends the connection of a request: see {@link dev.holdfast.servlet.PeerWatch}. */
    public static void watchPeer(HttpServletRequest request, Runnable ended) {
        if (of(request) instanceof WatchedEndPoint connection) {
            connection.watch(ended);
        }
    }

    /**
     * Resets the connection of a request: see {@link dev.holdfast.servlet.ConnectionReset}. Closing alone would leave it to the kernel to
     * offer the bytes of a stuck peer again and again, for more than a minute; with a linger time of zero it drops them and sends RST.
     */
    public static Runnable connectionReset(HttpServletRequest request) {
        EndPoint connection = of(request);
        return () -> {
            try {
                if (connection.getTransport() instanceof SocketChannel channel) {
                    channel.setOption(StandardSocketOptions.SO_LINGER, 0);
                }
            } catch (IOException e) {
                log.debug("a connection was closed before it could be reset: {}", e.toString());
            }
            // closes the channel and wakes its selector, without which the close would wait for the selector's next
            // turn
            connection.close();
        };
    }

    private static EndPoint of(HttpServletRequest request) {
        return ServletContextRequest.getServletContextRequest(request)
                .getConnectionMetaData()
                .getConnection()
                .getEndPoint();
    }

    private void watch(Runnable ended) {
        reading.lock();
        try {
            watch = Optional.of(ended);
        } finally {
            reading.unlock();
        }
        if (!super.tryFillInterested(new Look())) {
            watch = Optional.empty();
        }
    }

    /** There is something to read, or the connection is at its end. */
    private final class Look implements Callback {
        @Override
        public void succeeded() {
            look().ifPresent(Runnable::run);
        }
    }

    /** Reads; returns what to do now. */
    private Optional<Runnable> look() {
        reading.lock();
        try {
            if (watch.isEmpty()) {
                // Jetty waits for what there is to read
                return Optional.of(getFillInterest()::fillable);
            }
            ByteBuffer bytes = BufferUtil.allocate(AHEAD_BYTES);
            int read = super.fill(bytes);
            if (read == 0 && super.tryFillInterested(new Look())) {
                return Optional.empty();
            }
            Optional<Runnable> ended = read < 0 ? watch : Optional.empty();
            watch = Optional.empty();
            ahead = bytes;
            return ended;
        } catch (IOException e) {
            Optional<Runnable> ended = watch;
            watch = Optional.empty();
            return ended;
        } finally {
            reading.unlock();
        }
    }

    @Override
    public int fill(ByteBuffer buffer) throws IOException {
        if (watch.isPresent()) {
            endWatch();
        }
        reading.lock();
        try {
            int read;
            if (ahead.hasRemaining()) {
                read = BufferUtil.append(buffer, ahead);
                ahead = ahead.hasRemaining() ? ahead : BufferUtil.EMPTY_BUFFER;
            } else {
                read = super.fill(buffer);
            }
            if (read > 0 && served == null && !headBegun) {
                headBegun = true;
                headSince = System.nanoTime();
            }
            return read;
        } finally {
            reading.unlock();
        }
    }

    @Override
    public void fillInterested(Callback callback) {
        if (watch.isPresent()) {
            endWatch();
        }
        if (isAhead()) {
            callback.succeeded();
        } else {
            super.fillInterested(callback);
        }
    }

    @Override
    public boolean tryFillInterested(Callback callback) {
        if (watch.isPresent()) {
            endWatch();
        }
        if (isAhead()) {
            callback.succeeded();
            return true;
        }
        return super.tryFillInterested(callback);
    }

    /** Whether Jetty waits for something to read: a response that ends while it does would end its connection. */
    @Override
    public boolean isFillInterested() {
        reading.lock();
        try {
            return watch.isEmpty() && super.isFillInterested();
        } finally {
            reading.unlock();
        }
    }

    private void endWatch() {
        boolean watched;
        reading.lock();
        try {
            watched = watch.isPresent();
            watch = Optional.empty();
        } finally {
            reading.unlock();
        }
        if (watched) {
            getFillInterest().onFail(new CancellationException("somebody else reads"));
        }
    }

    /** Whether bytes are kept for Jetty. */
    private boolean isAhead() {
        reading.lock();
        try {
            return ahead.hasRemaining();
        } finally {
            reading.unlock();
        }
    }
}
