package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A server on a socket that does to each request what the test says, however wrong that is. */
final class ScriptedServer implements AutoCloseable {
    private final ServerSocket socket;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Queue<Act> script = new ConcurrentLinkedQueue<>();
    private final Queue<Act> gets = new ConcurrentLinkedQueue<>();
    private final List<Socket> open = new CopyOnWriteArrayList<>();
    /** Every request that came, in order. */
    final List<Request> requests = new CopyOnWriteArrayList<>();

    /** What is done with one request. */
    interface Act {
        void on(Request request, Reply reply) throws IOException;
    }

    /** A request, with the names of its headers in small letters. */
    record Request(String method, Map<String, String> headers, String body) {
        String header(String name) {
            return headers.getOrDefault(name, "");
        }
    }

    /** The way back. */
    static final class Reply {
        private final Socket socket;

        private Reply(Socket socket) {
            this.socket = socket;
        }

        Reply raw(String text) throws IOException {
            socket.getOutputStream().write(text.getBytes(UTF_8));
            socket.getOutputStream().flush();
            return this;
        }

        void status(int status, String... headers) throws IOException {
            raw("HTTP/1.1 " + status + " X\r\nContent-Length: 0\r\n" + lines(headers) + "\r\n");
        }

        void json(String body, String... headers) throws IOException {
            raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + body.getBytes(UTF_8).length
                    + "\r\n" + lines(headers) + "\r\n" + body);
        }

        /** The head of a stream whose end is the end of the connection. */
        Reply stream(String... headers) throws IOException {
            return raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
                    + lines(headers) + "\r\n");
        }

        /** A piece of the stream. */
        Reply chunk(String text) throws IOException {
            return raw(Integer.toHexString(text.getBytes(UTF_8).length) + "\r\n" + text + "\r\n");
        }

        /** A chunk in an encoding that no JSON has. */
        Reply latin1(String text) throws IOException {
            raw(Integer.toHexString(text.length()) + "\r\n");
            socket.getOutputStream().write(text.getBytes(ISO_8859_1));
            return raw("\r\n");
        }

        /** The stream ends in order. */
        void end() throws IOException {
            raw("0\r\n\r\n");
        }

        /** Goes on when the client has got so far: a reset takes what is on its way with it. */
        Reply once(BooleanSupplier seen) {
            Eventually.await(() -> seen.getAsBoolean() || socket.isClosed(), () -> "what the script waits for");
            return this;
        }

        /** Waits until the client has ended the connection. */
        void gone() throws IOException {
            socket.getInputStream().transferTo(OutputStream.nullOutputStream());
        }

        void fin() throws IOException {
            socket.close();
        }

        void rst() throws IOException {
            socket.setSoLinger(true, 0);
            socket.close();
        }

        private static String lines(String... headers) {
            return headers.length == 0 ? "" : String.join("\r\n", headers) + "\r\n";
        }
    }

    private ScriptedServer(int port) throws IOException {
        socket = new ServerSocket(port, 50, InetAddress.getLoopbackAddress());
        threads.execute(this::accept);
    }

    static ScriptedServer start() throws IOException {
        return new ScriptedServer(0);
    }

    static ScriptedServer at(int port) throws IOException {
        return new ScriptedServer(port);
    }

    /** What is done with the next POST or DELETE that nothing is said of yet. */
    ScriptedServer then(Act act) {
        script.add(act);
        return this;
    }

    /** The same for the next GET; without a word, it gets 405. */
    ScriptedServer onGet(Act act) {
        gets.add(act);
        return this;
    }

    /** The GETs that came, in order. */
    List<Request> gets() {
        return requests.stream()
                .filter(request -> request.method().equals("GET"))
                .toList();
    }

    /** Waits until so many requests have come. */
    void awaitRequests(int count) {
        Eventually.await(
                () -> requests.size() >= count, () -> requests.size() + " of " + count + " requests: " + requests);
    }

    int port() {
        return socket.getLocalPort();
    }

    URI uri() {
        return URI.create("http://127.0.0.1:" + port() + "/mcp");
    }

    private void accept() {
        while (!socket.isClosed()) {
            try {
                Socket connection = socket.accept();
                open.add(connection);
                threads.execute(() -> serve(connection));
            } catch (IOException | RejectedExecutionException e) {
                return;
            }
        }
    }

    private void serve(Socket connection) {
        try (connection) {
            InputStream in = new BufferedInputStream(connection.getInputStream());
            for (Request request = read(in); request != null; request = read(in)) {
                boolean get = request.method().equals("GET");
                // before it is counted: what the test says after it has seen this request is for the next one
                Act act = (get ? gets : script).poll();
                requests.add(request);
                if (act == null) {
                    new Reply(connection).status(get ? 405 : 500);
                } else {
                    act.on(request, new Reply(connection));
                }
            }
        } catch (IOException e) {
            // the test, or the client, has cut it
        }
    }

    private static @Nullable Request read(InputStream in) throws IOException {
        String first = line(in);
        if (first.isEmpty()) {
            return null;
        }
        Map<String, String> headers = new TreeMap<>();
        for (String header = line(in); !header.isEmpty(); header = line(in)) {
            int colon = header.indexOf(':');
            headers.put(
                    header.substring(0, colon).toLowerCase(Locale.ROOT),
                    header.substring(colon + 1).strip());
        }
        int length = Integer.parseInt(headers.getOrDefault("content-length", "0"));
        return new Request(first.substring(0, first.indexOf(' ')), headers, new String(in.readNBytes(length), UTF_8));
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b = in.read(); b >= 0 && b != '\n'; b = in.read()) {
            if (b != '\r') {
                line.append((char) b);
            }
        }
        return new String(line.toString().getBytes(ISO_8859_1), UTF_8);
    }

    @Override
    public void close() {
        try {
            socket.close();
            for (Socket connection : open) {
                connection.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        threads.shutdownNow();
    }
}
