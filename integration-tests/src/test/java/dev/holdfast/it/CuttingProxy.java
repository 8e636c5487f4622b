package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A TCP proxy on loopback that passes every byte on, until the test cuts its connections. */
final class CuttingProxy implements AutoCloseable {
    private static final int BUFFER = 16_384;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Set<Pair> pairs = ConcurrentHashMap.newKeySet();
    private final AtomicInteger cuts = new AtomicInteger();
    /** Holds the port while nobody listens: it is given to nobody else, and refuses connections. */
    private final Socket place;

    private final int port;
    private volatile int target;
    private volatile @Nullable ServerSocket listening;
    private volatile CompletableFuture<Void> accepting = CompletableFuture.completedFuture(null);

    /** How connections end. */
    enum Cut {
        /** Both sides see a reset. */
        RST,
        /** Both sides see an orderly close, in the middle of whatever was under way. */
        FIN,
        /** Nobody sees anything: the connections are open, and nothing passes any more. */
        HALF_OPEN
    }

    /** A client's connection and the one to the server. */
    private static final class Pair {
        private final Socket client;
        private final Socket server;
        private volatile boolean silent;
        /** Whether anything has come from the server. */
        private volatile boolean answered;
        /** Whether a stream of events has begun. */
        private volatile boolean streamed;

        private Pair(Socket client, Socket server) {
            this.client = client;
            this.server = server;
        }

        private void cut(Cut how) {
            if (how == Cut.HALF_OPEN) {
                silent = true;
                return;
            }
            close(client, how);
            close(server, how);
        }

        private static void close(Socket socket, Cut how) {
            try {
                if (how == Cut.RST) {
                    socket.setSoLinger(true, 0);
                }
                socket.close();
            } catch (SocketException e) {
                // closed already
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private CuttingProxy(int target) throws IOException {
        this.target = target;
        this.place = new Socket();
        place.setReuseAddress(true);
        place.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        this.port = place.getLocalPort();
        accept();
    }

    /** A proxy before a server on this machine. */
    static CuttingProxy to(int target) throws IOException {
        return new CuttingProxy(target);
    }

    int port() {
        return port;
    }

    /** How many connections were cut on which the server had begun to answer. */
    int cuts() {
        return cuts.get();
    }

    /** Leads new connections to another server. */
    void leadTo(int other) {
        target = other;
    }

    private ServerSocket listen() throws IOException {
        ServerSocket socket = new ServerSocket();
        socket.setReuseAddress(true);
        socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 200);
        return socket;
    }

    /** Cuts what is open. */
    void cut(Cut how) {
        cut(how, pair -> true);
    }

    /** Cuts what is open on which the server has begun to answer, and spares what has just been sent. */
    void cutAnswered(Cut how) {
        cut(how, pair -> pair.answered);
    }

    /** Cuts what is open and has carried a stream of events. */
    void cutStreams(Cut how) {
        cut(how, pair -> pair.streamed);
    }

    private void cut(Cut how, Predicate<Pair> which) {
        pairs.removeIf(pair -> {
            if (!which.test(pair)) {
                return false;
            }
            if (pair.answered) {
                cuts.incrementAndGet();
            }
            pair.cut(how);
            return how != Cut.HALF_OPEN;
        });
    }

    /** Refuses connections from now on. The kernel listens as long as a thread is still in the accept of a socket that was closed. */
    void refuse() throws IOException {
        ServerSocket open = listening;
        if (open != null) {
            open.close();
            accepting.join();
        }
    }

    /** Accepts connections, after a refusal again. */
    void accept() throws IOException {
        ServerSocket open = listen();
        listening = open;
        accepting = CompletableFuture.runAsync(() -> accept(open), threads);
    }

    private void accept(ServerSocket from) {
        while (!from.isClosed()) {
            try {
                Socket client = from.accept();
                threads.execute(() -> connect(client));
            } catch (IOException | RejectedExecutionException e) {
                return;
            }
        }
    }

    private void connect(Socket client) {
        try {
            Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
            Pair pair = new Pair(client, server);
            pairs.add(pair);
            threads.execute(() -> pump(pair, client, server));
            pump(pair, server, client);
        } catch (IOException | RejectedExecutionException e) {
            Pair.close(client, Cut.RST);
        }
    }

    private void pump(Pair pair, Socket from, Socket to) {
        byte[] buffer = new byte[BUFFER];
        try (InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream()) {
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                if (!pair.silent) {
                    pair.answered |= from == pair.server;
                    pair.streamed |= from == pair.server
                            && new String(buffer, 0, read, US_ASCII).contains("Content-Type: text/event-stream");
                    out.write(buffer, 0, read);
                }
            }
        } catch (IOException e) {
            // one side has gone; closing the streams takes the other with it
        } finally {
            if (!pair.silent) {
                pairs.remove(pair);
            }
        }
    }

    @Override
    public void close() throws IOException {
        refuse();
        place.close();
        for (Pair pair : pairs) {
            pair.cut(Cut.RST);
        }
        threads.shutdownNow();
    }
}
