package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import tools.jackson.databind.JsonNode;

/**
 * A connection of an HTTP/1.1 client that does no more than it is told: for one thread, with a deadline on every read. {@link
 * #close} ends it by FIN, {@link #reset} by RST.
 */
final class RawConnection implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    /** How the response ended. */
    enum End {
        /** Not yet. */
        NONE,
        /** Whole, as its head had announced. */
        IN_ORDER,
        /** Cut off. */
        BROKEN
    }

    /** The head of a response; names of headers in any case. */
    record Head(int status, Map<String, String> headers) {
        Optional<String> header(String name) {
            return Optional.ofNullable(headers.get(name));
        }
    }

    private final Socket socket;
    private final InputStream in;
    private final byte[] buffer = new byte[8192];
    private int at;
    private int filled;
    private End end = End.NONE;
    private boolean chunked;
    private boolean inChunks;
    private long left;

    private RawConnection(Socket socket) throws IOException {
        this.socket = socket;
        this.in = socket.getInputStream();
    }

    static RawConnection open(int port) {
        return open(port, 0);
    }

    /** Opens a connection whose receive buffer is small, so that a client that does not read is soon stuck; 0 for the usual. */
    static RawConnection open(int port, int receiveBuffer) {
        try {
            Socket socket = new Socket();
            if (receiveBuffer > 0) {
                socket.setReceiveBufferSize(receiveBuffer);
            }
            socket.setTcpNoDelay(true);
            socket.connect(new java.net.InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5_000);
            return new RawConnection(socket);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    RawConnection send(RawRequest request) {
        byte[] head = request.head(socket.getPort());
        byte[] body = request.body();
        // in one write: a server that is busy sees the body when it sees the head
        byte[] whole = Arrays.copyOf(head, head.length + body.length);
        System.arraycopy(body, 0, whole, head.length, body.length);
        return write(whole);
    }

    RawConnection write(byte[] bytes) {
        try {
            socket.getOutputStream().write(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return this;
    }

    /** Says that nothing more will be sent, and goes on reading. */
    RawConnection shutdownOutput() {
        try {
            socket.shutdownOutput();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return this;
    }

    /** Whether something has come that was not read yet. */
    boolean readable() {
        try {
            return at < filled || in.available() > 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Reads the head of a response. */
    Head head() {
        return head(PATIENCE);
    }

    Head head(Duration patience) {
        long deadline = System.nanoTime() + patience.toNanos();
        try {
            String[] status = rawLine(deadline).split(" ", 3);
            Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
            for (String line = rawLine(deadline); !line.isEmpty(); line = rawLine(deadline)) {
                int colon = line.indexOf(':');
                headers.put(line.substring(0, colon), line.substring(colon + 1).strip());
            }
            chunked = "chunked".equalsIgnoreCase(headers.get("Transfer-Encoding"));
            left = chunked ? 0 : Long.parseLong(headers.getOrDefault("Content-Length", "0"));
            return new Head(Integer.parseInt(status[1]), headers);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Reads the rest of the body. */
    String body() {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        for (int b = read(deadline); b >= 0; b = read(deadline)) {
            body.write(b);
        }
        return body.toString(UTF_8);
    }

    /** Reads the next frame of the stream, be it only a comment; empty when the stream has ended. */
    Optional<Frame> frame() {
        return frame(PATIENCE);
    }

    private Optional<Frame> frame(Duration patience) {
        List<String> lines = new ArrayList<>();
        long deadline = System.nanoTime() + patience.toNanos();
        for (Optional<String> line = line(deadline); line.isPresent(); line = line(deadline)) {
            if (line.get().isEmpty()) {
                return Optional.of(new Frame(lines));
            }
            lines.add(line.get());
        }
        return Optional.empty();
    }

    /** Reads up to the next message of the stream. */
    Frame message() {
        for (Optional<Frame> frame = frame(); frame.isPresent(); frame = frame()) {
            if (frame.get().message()) {
                return frame.get();
            }
        }
        throw new AssertionError("the stream has ended, " + end);
    }

    /** Reads all messages up to the end of the stream. */
    List<Frame> messages() {
        return messages(PATIENCE);
    }

    /** The same where each may take so long. */
    List<Frame> messages(Duration patience) {
        List<Frame> all = new ArrayList<>();
        for (Optional<Frame> frame = frame(patience); frame.isPresent(); frame = frame(patience)) {
            frame.filter(Frame::message).ifPresent(all::add);
        }
        return all;
    }

    /** Reads the answer to a request of the revision without sessions: the body that it is, or the last message of the stream. */
    JsonNode answer() {
        if (head().header("Content-Type").orElse("").startsWith("application/json")) {
            return Json.parse(body());
        }
        List<Frame> messages = messages();
        return messages.get(messages.size() - 1).json();
    }

    /** Reads what was written in one piece: the rest of the chunk at hand, or else the next one; empty at the end of the body. */
    String chunk() {
        ByteArrayOutputStream piece = new ByteArrayOutputStream();
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        for (int b = read(deadline); b >= 0; b = read(deadline)) {
            piece.write(b);
            if (left == 0) {
                break;
            }
        }
        return piece.toString(UTF_8);
    }

    /** Reads one byte of the body; -1 at its end. */
    int read() {
        return read(System.nanoTime() + PATIENCE.toNanos());
    }

    /** How the response ended, once reading has come to its end. */
    End end() {
        return end;
    }

    private Optional<String> line(long deadline) {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = read(deadline); b >= 0; b = read(deadline)) {
            if (b == '\n') {
                return Optional.of(line.toString(UTF_8));
            }
            line.write(b);
        }
        return Optional.empty();
    }

    private int read(long deadline) {
        if (end != End.NONE) {
            return -1;
        }
        try {
            if (left == 0 && !nextChunk(deadline)) {
                end = End.IN_ORDER;
                return -1;
            }
            left--;
            return Byte.toUnsignedInt(rawByte(deadline));
        } catch (SocketTimeoutException e) {
            throw new AssertionError("nothing came in time", e);
        } catch (IOException e) {
            end = End.BROKEN;
            return -1;
        }
    }

    private boolean nextChunk(long deadline) throws IOException {
        if (!chunked) {
            return false;
        }
        if (inChunks) {
            rawLine(deadline);
        }
        inChunks = true;
        left = Long.parseLong(rawLine(deadline).split(";", 2)[0].strip(), 16);
        if (left == 0) {
            rawLine(deadline);
        }
        return left > 0;
    }

    private String rawLine(long deadline) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (byte b = rawByte(deadline); b != '\n'; b = rawByte(deadline)) {
            if (b != '\r') {
                line.write(b);
            }
        }
        return line.toString(ISO_8859_1);
    }

    private byte rawByte(long deadline) throws IOException {
        if (at == filled) {
            long millis = (deadline - System.nanoTime()) / 1_000_000;
            socket.setSoTimeout((int) Math.max(1, millis));
            at = 0;
            filled = Math.max(0, in.read(buffer));
            if (filled == 0) {
                throw new EOFException("the peer closed the connection");
            }
        }
        return buffer[at++];
    }

    /** Breaks the connection by RST. */
    void reset() {
        try {
            socket.setSoLinger(true, 0);
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
