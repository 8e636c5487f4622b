package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** A socket on which many requests are written at once, and whose answers are read one after the other. For one thread. */
final class HostileWire implements AutoCloseable {
    private static final int PATIENCE_MILLIS = 20_000;
    private static final int MOST_BODY = 4 << 20;
    private static final String LAST_CHUNK = "\r\n0\r\n\r\n";

    private final Socket socket = new Socket();
    private final InputStream in;
    private final OutputStream out;
    private final byte[] buffer = new byte[16 << 10];
    private int at;
    private int filled;

    HostileWire(int port) throws IOException {
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(PATIENCE_MILLIS);
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), PATIENCE_MILLIS);
        in = socket.getInputStream();
        out = socket.getOutputStream();
    }

    /**
     * One answer.
     *
     * @param headers names in lower case
     * @param body all of it; of an endless stream only what had come with the head
     * @param endless whether it is a stream that goes on
     */
    record Answer(int status, Map<String, String> headers, String body, boolean endless) {
        Optional<String> header(String name) {
            return Optional.ofNullable(headers.get(name));
        }

        String type() {
            return headers.getOrDefault("content-type", "");
        }

        boolean closes() {
            return headers.getOrDefault("connection", "")
                    .toLowerCase(Locale.ROOT)
                    .contains("close");
        }
    }

    void write(byte[] bytes) throws IOException {
        out.write(bytes);
    }

    void halfClose() throws IOException {
        socket.shutdownOutput();
    }

    void reset() throws IOException {
        socket.setSoLinger(true, 0);
        socket.close();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    /**
     * Reads the next answer; empty if the connection has ended before it began.
     *
     * @param method what it answers: HEAD has no body
     */
    Optional<Answer> answer(String method) throws IOException {
        while (true) {
            if (!fill()) {
                return Optional.empty();
            }
            String[] status = line().split(" ", 3);
            if (!status[0].equals("HTTP/1.1") || status.length < 2) {
                throw new IOException("not the status line of an answer: " + String.join(" ", status));
            }
            Map<String, String> headers = new TreeMap<>();
            for (String line = line(); !line.isEmpty(); line = line()) {
                int colon = line.indexOf(':');
                headers.put(
                        line.substring(0, colon).toLowerCase(Locale.ROOT),
                        line.substring(colon + 1).strip());
            }
            int code = Integer.parseInt(status[1]);
            if (code >= 200) {
                return Optional.of(withBody(code, headers, method));
            }
        }
    }

    private Answer withBody(int code, Map<String, String> headers, String method) throws IOException {
        boolean stream = headers.getOrDefault("content-type", "").startsWith("text/event-stream");
        if (method.equals("HEAD") || code == 204 || code == 304) {
            return new Answer(code, headers, "", false);
        }
        if (stream && method.equals("GET") && !headers.containsKey("content-length")) {
            String begun = new String(buffer, at, filled - at, ISO_8859_1);
            int end = begun.indexOf(LAST_CHUNK);
            // behind its end is the answer to what the server took for another request
            return new Answer(code, headers, end < 0 ? begun : begun.substring(0, end), true);
        }
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        if (headers.getOrDefault("transfer-encoding", "").equals("chunked")) {
            for (int size = chunkSize(); size > 0; size = chunkSize()) {
                copy(body, size);
                line();
            }
            line();
        } else if (headers.containsKey("content-length")) {
            copy(body, Long.parseLong(headers.get("content-length")));
        } else {
            while (fill()) {
                copy(body, filled - at);
            }
        }
        return new Answer(code, headers, body.toString(ISO_8859_1), false);
    }

    private int chunkSize() throws IOException {
        return Integer.parseInt(line().split(";", 2)[0].strip(), 16);
    }

    private void copy(ByteArrayOutputStream body, long count) throws IOException {
        for (long left = count; left > 0; ) {
            need();
            int piece = (int) Math.min(left, filled - at);
            body.write(buffer, at, piece);
            at += piece;
            left -= piece;
        }
        if (body.size() > MOST_BODY) {
            throw new IOException("an answer of more than " + MOST_BODY + " bytes");
        }
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder(80);
        while (true) {
            need();
            char c = (char) (buffer[at++] & 0xFF);
            if (c == '\n') {
                return line.toString();
            }
            if (c != '\r') {
                line.append(c);
            }
        }
    }

    private void need() throws IOException {
        if (!fill()) {
            throw new EOFException("the connection ended in the middle of an answer");
        }
    }

    /** False at the end. */
    private boolean fill() throws IOException {
        if (at == filled) {
            at = 0;
            filled = Math.max(0, in.read(buffer));
        }
        return filled > 0;
    }
}
