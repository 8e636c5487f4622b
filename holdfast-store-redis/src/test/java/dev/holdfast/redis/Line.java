package dev.holdfast.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongUnaryOperator;

/**
 * The network between a node and Redis: it can break after so many bytes in either direction, carry nothing any more, or end each
 * connection that carries a large command.
 */
public final class Line implements AutoCloseable {
    private final ServerSocket listener;
    private volatile int target;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final Way toRedis = new Way();
    private final Way toNode = new Way();
    private final AtomicLong cuts = new AtomicLong();
    private final AtomicLong connections = new AtomicLong();
    /** Connections up to this one carry nothing. */
    private volatile long silentUpTo;
    /** A connection ends that has carried more than this to Redis without an answer. */
    private volatile long mostUnanswered = Long.MAX_VALUE;

    public Line(int target) {
        this.target = target;
        try {
            listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    public String url() {
        return "redis://127.0.0.1:" + port();
    }

    /** Breaks all connections; later ones go to another server. */
    public void leadTo(int port) {
        target = port;
        cut();
    }

    /** Breaks all connections once so many more bytes have gone to Redis. */
    void cutRequestAfter(long bytes) {
        toRedis.breakAfter(bytes);
    }

    /** Breaks all connections once so many more bytes have come from Redis. */
    void cutReplyAfter(long bytes) {
        toNode.breakAfter(bytes);
    }

    /** Ends each connection, and no other, on which more than so many bytes come between two answers, as some proxies do. */
    void endConnectionsOfMoreThan(long bytes) {
        mostUnanswered = bytes;
    }

    /** How many connections were made so far. */
    long connections() {
        return connections.get();
    }

    /** Connections of now carry nothing any more, and nobody is told; later ones work. */
    void fallSilent() {
        silentUpTo = connections.get();
    }

    /** How many bytes have gone to Redis so far. */
    long requested() {
        return toRedis.carried();
    }

    /** How many bytes have come from Redis so far. */
    long replied() {
        return toNode.carried();
    }

    /** How often all connections were broken. */
    long cuts() {
        return cuts.get();
    }

    private boolean carries(long connection) {
        return connection > silentUpTo;
    }

    private void accept() {
        try {
            while (!listener.isClosed()) {
                connect(listener.accept());
            }
        } catch (IOException e) {
            // closed
        }
    }

    private void connect(Socket node) {
        Socket redis;
        try {
            redis = new Socket(InetAddress.getLoopbackAddress(), target);
        } catch (IOException e) {
            // Redis is down: the node is told, and the next connection may find it again
            close(node);
            return;
        }
        long number = connections.incrementAndGet();
        sockets.add(node);
        sockets.add(redis);
        AtomicLong unanswered = new AtomicLong();
        start(() -> carry(number, node, redis, toRedis, unanswered::addAndGet));
        start(() -> carry(number, redis, node, toNode, read -> {
            unanswered.set(0);
            return 0;
        }));
    }

    private void carry(long number, Socket from, Socket to, Way way, LongUnaryOperator unanswered) {
        byte[] buffer = new byte[8192];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                if (!carries(number)) {
                    continue;
                }
                if (unanswered.applyAsLong(read) > mostUnanswered) {
                    close(from);
                    close(to);
                    return;
                }
                // nothing passes beside the last share, and behind it only what comes on other connections
                synchronized (way) {
                    Share share = way.take(read);
                    try {
                        out.write(buffer, 0, share.bytes());
                    } finally {
                        if (share.isLast()) {
                            cut();
                        }
                    }
                }
            }
            to.close();
        } catch (IOException e) {
            close(from);
            close(to);
        }
    }

    /** Redis is told by an end behind what it got, the node by a reset. */
    private void cut() {
        cuts.incrementAndGet();
        List<Socket> open = List.copyOf(sockets);
        open.forEach(Line::close);
        sockets.removeAll(open);
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // it is closed
        }
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "line");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() {
        try {
            listener.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        cut();
    }

    private record Share(int bytes, boolean isLast) {}

    /** One direction of all connections. Their threads share what it carries before it breaks, and one of them breaks it. */
    private static final class Way {
        private static final long WHOLE = Long.MAX_VALUE;

        private long left = WHOLE;
        private long carried;

        synchronized void breakAfter(long bytes) {
            left = bytes;
        }

        /** What is carried of so many bytes. Behind the last share all is carried again. */
        synchronized Share take(int bytes) {
            if (left == WHOLE) {
                carried += bytes;
                return new Share(bytes, false);
            }
            int some = (int) Math.min(left, bytes);
            left -= some;
            boolean last = left == 0;
            if (last) {
                left = WHOLE;
            }
            return new Share(some, last);
        }

        synchronized long carried() {
            return carried;
        }
    }
}
