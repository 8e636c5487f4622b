package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** A proxy on loopback with the limits of those that people have: it ends what is too old or silent for too long, or holds streams back. */
final class LimitingProxy implements AutoCloseable {
    private static final Duration NEVER = Duration.ofDays(1);
    private static final int BUFFER = 65_536;
    private static final String END_OF_HEAD = "\r\n\r\n";

    private final URI server;
    private final Duration oldest;
    private final Duration longestSilence;
    private final boolean buffers;
    private final ServerSocket listening;
    private final Set<Link> links = ConcurrentHashMap.newKeySet();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();

    private LimitingProxy(URI server, Duration oldest, Duration longestSilence, boolean buffers) {
        this.server = server;
        this.oldest = oldest;
        this.longestSilence = longestSilence;
        this.buffers = buffers;
        try {
            listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        threads.execute(this::accept);
        clock.scheduleWithFixedDelay(() -> links.forEach(Link::look), 10, 10, TimeUnit.MILLISECONDS);
    }

    /** One that ends each connection so long after its last request has begun. */
    static LimitingProxy ofAge(URI server, Duration oldest) {
        return new LimitingProxy(server, oldest, NEVER, false);
    }

    /** One that ends each connection on which nothing has come for so long. */
    static LimitingProxy ofSilence(URI server, Duration longest) {
        return new LimitingProxy(server, NEVER, longest, false);
    }

    /** One that passes a body on when all of it is there. */
    static LimitingProxy buffering(URI server) {
        return new LimitingProxy(server, NEVER, NEVER, true);
    }

    /** The same place, reached through it. */
    URI url() {
        return URI.create("http://127.0.0.1:" + listening.getLocalPort() + server.getPath());
    }

    private void accept() {
        try {
            while (true) {
                Socket client = listening.accept();
                Link link = new Link(client, new Socket(server.getHost(), server.getPort()));
                links.add(link);
                threads.execute(link::requests);
                threads.execute(link::answers);
            }
        } catch (IOException e) {
            // it was closed
        }
    }

    /** A client's connection, and the one to the server. */
    private final class Link {
        private final Socket client;
        private final Socket there;
        private volatile long asked = System.nanoTime();
        private volatile long passed = System.nanoTime();

        private Link(Socket client, Socket there) {
            this.client = client;
            this.there = there;
        }

        private void look() {
            long now = System.nanoTime();
            if (now - asked > oldest.toNanos() || now - passed > longestSilence.toNanos()) {
                close();
            }
        }

        private void requests() {
            byte[] part = new byte[BUFFER];
            try {
                for (int count = read(client, part); count >= 0; count = read(client, part)) {
                    asked = System.nanoTime();
                    there.getOutputStream().write(part, 0, count);
                }
            } catch (IOException e) {
                // one of them has left
            } finally {
                close();
            }
        }

        private void answers() {
            byte[] part = new byte[BUFFER];
            ByteArrayOutputStream held = new ByteArrayOutputStream();
            try {
                for (int count = read(there, part); count >= 0; count = read(there, part)) {
                    held.write(part, 0, count);
                    pass(held);
                }
            } catch (IOException e) {
                // one of them has left
            } finally {
                close();
            }
        }

        /** Passes on what has come: of a body in chunks nothing before its last one, if this proxy holds it back. */
        private void pass(ByteArrayOutputStream held) throws IOException {
            String text = held.toString(ISO_8859_1);
            int head = text.startsWith("HTTP/") ? text.indexOf(END_OF_HEAD) + END_OF_HEAD.length() : 0;
            boolean chunks = !buffers || text.endsWith("0" + END_OF_HEAD) || text.contains("Content-Length");
            int now = chunks ? held.size() : head;
            client.getOutputStream().write(held.toByteArray(), 0, now);
            byte[] rest = held.toByteArray();
            held.reset();
            held.write(rest, now, rest.length - now);
        }

        private int read(Socket from, byte[] part) throws IOException {
            int count = from.getInputStream().read(part);
            passed = System.nanoTime();
            return count;
        }

        private void close() {
            links.remove(this);
            try (client;
                    there) {
                // both
            } catch (IOException e) {
                // it is gone
            }
        }
    }

    @Override
    public void close() throws IOException {
        listening.close();
        links.forEach(Link::close);
        clock.shutdownNow();
        threads.shutdownNow();
    }
}
