package dev.holdfast.gateway.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.locks.ReentrantLock;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * A connection whose end by the peer is noticed while a response is written. Jetty does not read from a connection of HTTP/1 as long
 * as a request is served, so that it hears of the end only when it writes.
 *
 * <p>The watch reads when there is something to read. If those are bytes, a next request, they are kept for Jetty, and the watch is
 * over; it is also over as soon as Jetty wants to read again.
 */
final class WatchedEndPoint extends SocketChannelEndPoint {
    private static final int AHEAD_BYTES = 1024;

    private final ReentrantLock reading = new ReentrantLock();
    private Optional<Runnable> watch = Optional.empty();
    private ByteBuffer ahead = BufferUtil.EMPTY_BUFFER;

    WatchedEndPoint(SocketChannel channel, ManagedSelector selector, SelectionKey key, Scheduler scheduler) {
        super(channel, selector, key, scheduler);
    }

    /** A connector whose connections can be watched. */
    static ServerConnector connector(Server server, ConnectionFactory protocol) {
        return new ServerConnector(server, protocol) {
            @Override
            protected SocketChannelEndPoint newEndPoint(
                    SocketChannel channel, ManagedSelector selector, SelectionKey key) {
                WatchedEndPoint connection = new WatchedEndPoint(channel, selector, key, getScheduler());
                connection.setIdleTimeout(getIdleTimeout());
                return connection;
            }
        };
    }

    /** Runs something when the peer ends the connection before Jetty reads again. */
    void watch(Runnable ended) {
        reading.lock();
        try {
            watch = Optional.of(ended);
        } finally {
            reading.unlock();
        }
        if (!super.tryFillInterested(new Look())) {
            unwatch();
        }
    }

    /** Ends the watch; returns whether there was one. */
    private boolean unwatch() {
        reading.lock();
        try {
            boolean was = watch.isPresent();
            watch = Optional.empty();
            return was;
        } finally {
            reading.unlock();
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
        endWatch();
        reading.lock();
        try {
            if (ahead.hasRemaining()) {
                int taken = BufferUtil.append(buffer, ahead);
                ahead = ahead.hasRemaining() ? ahead : BufferUtil.EMPTY_BUFFER;
                return taken;
            }
            return super.fill(buffer);
        } finally {
            reading.unlock();
        }
    }

    @Override
    public void fillInterested(Callback callback) {
        endWatch();
        if (readAhead()) {
            callback.succeeded();
        } else {
            super.fillInterested(callback);
        }
    }

    @Override
    public boolean tryFillInterested(Callback callback) {
        endWatch();
        if (readAhead()) {
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
        if (unwatch()) {
            getFillInterest().onFail(new CancellationException("somebody else reads"));
        }
    }

    private boolean readAhead() {
        reading.lock();
        try {
            return ahead.hasRemaining();
        } finally {
            reading.unlock();
        }
    }
}
