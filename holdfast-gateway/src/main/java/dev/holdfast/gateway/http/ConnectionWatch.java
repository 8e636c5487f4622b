package dev.holdfast.gateway.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.locks.ReentrantLock;
import org.eclipse.jetty.io.FillInterest;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/**
 * Stands between Jetty and what a connection reads, in clear text, and notices two things which Jetty does not.
 *
 * <p>Its peer ends it while a response of HTTP/1 is written. As long as a request is served, Jetty does not read then, and hears of the
 * end only when it writes. The watch reads when there is something to read. If those are bytes, a next request, they are kept for Jetty,
 * and the watch is over; it is also over as soon as Jetty wants to read again.
 *
 * <p>A head takes too long, from its first byte on. Jetty's idle timeout begins again with every byte, so that a client which drips would
 * keep its connection for ever. For as long as no byte comes, a connection is left to the idle timeout. So is one of HTTP/2 from its first
 * request on, where heads come between everything else.
 */
final class ConnectionWatch {
    private static final int AHEAD_BYTES = 1024;

    private final Source source;
    private final ReentrantLock reading = new ReentrantLock();
    /** Runs when the peer ends the connection; changed under the lock. */
    private volatile Optional<Runnable> watch = Optional.empty();

    private ByteBuffer ahead = BufferUtil.EMPTY_BUFFER;
    /** The request that is served; null while the next one is awaited. */
    private @Nullable Request served;
    /** Whether a part of the next head is there, and since when. */
    private boolean headBegun;

    private long headSince;
    private boolean multiplexed;

    /** What an end point does without a watch. */
    interface Source {
        int fill(ByteBuffer buffer) throws IOException;

        void fillInterested(Callback callback);

        boolean tryFillInterested(Callback callback);

        FillInterest interest();
    }

    /** An end point that is watched, and leaves to its watch what it has in common with it. */
    interface Watched {
        ConnectionWatch watch();
    }

    ConnectionWatch(Source source) {
        this.source = source;
    }

    /** How long the head that is coming in has taken; zero if there is none. */
    long headTakes(long now) {
        reading.lock();
        try {
            return headBegun && !multiplexed ? now - headSince : 0;
        } finally {
            reading.unlock();
        }
    }

    /** A head is whole. */
    void begin(Request request, boolean isMultiplexed) {
        reading.lock();
        try {
            multiplexed = isMultiplexed;
            served = request;
            headBegun = false;
        } finally {
            reading.unlock();
        }
    }

    /** A request is over; that comes too late if another one has begun. */
    void end(Request request) {
        reading.lock();
        try {
            served = request.equals(served) ? null : served;
        } finally {
            reading.unlock();
        }
    }

    /** Runs something when the peer ends the connection, until Jetty reads. */
    void begin(Runnable ended) {
        reading.lock();
        try {
            watch = Optional.of(ended);
        } finally {
            reading.unlock();
        }
        if (!source.tryFillInterested(new Look())) {
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
                return Optional.of(source.interest()::fillable);
            }
            ByteBuffer bytes = BufferUtil.allocate(AHEAD_BYTES);
            int read = source.fill(bytes);
            if (read == 0 && source.tryFillInterested(new Look())) {
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

    int fill(ByteBuffer buffer) throws IOException {
        if (buffer.capacity() == 0) {
            // TLS reads for itself, and holds its lock
            return source.fill(buffer);
        }
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
                read = source.fill(buffer);
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

    void fillInterested(Callback callback) {
        if (watch.isPresent()) {
            endWatch();
        }
        if (isAhead()) {
            callback.succeeded();
        } else {
            source.fillInterested(callback);
        }
    }

    boolean tryFillInterested(Callback callback) {
        if (watch.isPresent()) {
            endWatch();
        }
        if (isAhead()) {
            callback.succeeded();
            return true;
        }
        return source.tryFillInterested(callback);
    }

    /** Whether Jetty waits for something to read: a response that ends while it does would end its connection. */
    boolean isFillInterested() {
        reading.lock();
        try {
            return watch.isEmpty() && source.interest().isInterested();
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
            source.interest().onFail(new CancellationException("somebody else reads"));
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
