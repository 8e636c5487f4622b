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

/** The network between a node and Redis: it can break after so many bytes in either direction, or carry nothing any more. */
final class Line implements AutoCloseable {
    private static final long WHOLE = Long.MAX_VALUE;

    private final ServerSocket listener;
    private final int target;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final AtomicLong requestBytes = new AtomicLong(WHOLE);
    private final AtomicLong replyBytes = new AtomicLong(WHOLE);
    private final AtomicLong requested = new AtomicLong();
    private final AtomicLong replied = new AtomicLong();
    private final AtomicLong cuts = new AtomicLong();
    private final AtomicLong connections = new AtomicLong();
    /** Connections up to this one carry nothing. */
    private volatile long silentUpTo;

    Line(int target) {
        this.target = target;
        try {
            listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::accept);
    }

    String url() {
        return "redis://127.0.0.1:" + listener.getLocalPort();
    }

    /** Breaks all connections once so many more bytes have gone to Redis. */
    void cutRequestAfter(long bytes) {
        requestBytes.set(bytes);
    }

    /** Breaks all connections once so many more bytes have come from Redis. */
    void cutReplyAfter(long bytes) {
        replyBytes.set(bytes);
    }

    /** Connections of now carry nothing any more, and nobody is told; later ones work. */
    void fallSilent() {
        silentUpTo = connections.get();
    }

    /** How many bytes have gone to Redis so far. */
    long requested() {
        return requested.get();
    }

    /** How many bytes have come from Redis so far. */
    long replied() {
        return replied.get();
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
        start(() -> carry(number, node, redis, requestBytes, requested));
        start(() -> carry(number, redis, node, replyBytes, replied));
    }

    private void carry(long number, Socket from, Socket to, AtomicLong left, AtomicLong carried) {
        byte[] buffer = new byte[8192];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                if (!carries(number)) {
                    continue;
                }
                long before = left.get();
                if (before == WHOLE) {
                    carried.addAndGet(read);
                    out.write(buffer, 0, read);
                } else {
                    int some = (int) Math.min(before, read);
                    out.write(buffer, 0, some);
                    left.addAndGet(-some);
                    if (some == before) {
                        left.set(WHOLE);
                        cut();
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
        for (Socket socket : sockets) {
            close(socket);
        }
        sockets.clear();
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
}
