package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/** One connection of HTTP/2 over TLS, by the byte: its streams can be left unread, reset, and killed together. */
public final class RawHttp2 implements AutoCloseable {
    public static final int DATA = 0;
    public static final int HEADERS = 1;
    public static final int RESET = 3;

    private static final int SETTINGS = 4;
    private static final int PING = 6;
    private static final int GOAWAY = 7;
    private static final int WINDOW = 8;
    private static final int ACK = 1;
    private static final int END_STREAM = 1;
    private static final int END_HEADERS = 4;
    private static final int CANCEL = 8;
    private static final int INITIAL_WINDOW = 4;

    private final Socket socket;
    private final SSLSocket secured;
    private final DataOutputStream out;
    private final Map<Integer, BlockingQueue<Frame>> frames = new ConcurrentHashMap<>();
    private int last = -1;

    /** A frame of a stream. */
    public record Frame(int type, int flags, byte[] payload) {
        public String text() {
            return new String(payload, UTF_8);
        }
    }

    /**
     * Connects.
     *
     * @param window how many bytes the server may send on each stream, and nobody asks for more
     */
    public RawHttp2(int port, SSLContext trusting, int window) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        secured = (SSLSocket) trusting.getSocketFactory().createSocket(socket, "localhost", port, true);
        SSLParameters parameters = secured.getSSLParameters();
        parameters.setApplicationProtocols(new String[] {"h2"});
        secured.setSSLParameters(parameters);
        secured.startHandshake();
        out = new DataOutputStream(secured.getOutputStream());
        out.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(UTF_8));
        send(
                SETTINGS,
                0,
                0,
                ByteBuffer.allocate(6)
                        .putShort((short) INITIAL_WINDOW)
                        .putInt(window)
                        .array());
        send(WINDOW, 0, 0, ByteBuffer.allocate(4).putInt(1 << 30).array());
        Thread reader = new Thread(this::read, "raw-http2");
        reader.setDaemon(true);
        reader.start();
    }

    private synchronized void send(int type, int flags, int stream, byte[] payload) throws IOException {
        ByteBuffer frame = ByteBuffer.allocate(9 + payload.length);
        frame.put((byte) (payload.length >> 16)).putShort((short) payload.length);
        frame.put((byte) type).put((byte) flags).putInt(stream).put(payload);
        out.write(frame.array());
        out.flush();
    }

    private void read() {
        try (DataInputStream in = new DataInputStream(secured.getInputStream())) {
            while (true) {
                int length = (in.readUnsignedByte() << 16) | in.readUnsignedShort();
                int type = in.readUnsignedByte();
                int flags = in.readUnsignedByte();
                int stream = in.readInt();
                Frame frame = new Frame(type, flags, in.readNBytes(length));
                if (type == PING && flags == 0) {
                    send(PING, ACK, 0, frame.payload);
                } else if (type == SETTINGS && flags == 0) {
                    send(SETTINGS, ACK, 0, new byte[0]);
                } else if (type != WINDOW) {
                    queue(type == GOAWAY ? 0 : stream).add(frame);
                }
            }
        } catch (IOException e) {
            // the end
        }
    }

    private BlockingQueue<Frame> queue(int stream) {
        return frames.computeIfAbsent(stream, unused -> new LinkedBlockingQueue<>());
    }

    /** Waits for the next frame of a stream. */
    public Frame next(int stream) {
        return Wait.next(queue(stream));
    }

    /** Waits for a frame of a stream that has this in it, and returns that. */
    public String heard(int stream, String text) {
        StringBuilder heard = new StringBuilder();
        while (heard.indexOf(text) < 0) {
            Frame frame = next(stream);
            heard.append(frame.type == DATA ? frame.text() : "");
        }
        return heard.toString();
    }

    /** Asks for something; returns the number of the stream. */
    public synchronized int get(String path, String... headers) throws IOException {
        return request("GET", path, END_STREAM, headers);
    }

    /** Posts a message to {@code /mcp}; returns the number of the stream. */
    public synchronized int post(String message, String... headers) throws IOException {
        int stream = request("POST", "/mcp", 0, headers);
        send(DATA, END_STREAM, stream, message.getBytes(UTF_8));
        return stream;
    }

    private int request(String method, String path, int flags, String... headers) throws IOException {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        header(block, ":method", method);
        header(block, ":scheme", "https");
        header(block, ":authority", "localhost:" + socket.getPort());
        header(block, ":path", path);
        header(block, "content-type", "application/json");
        header(block, "accept", method.equals("GET") ? "text/event-stream" : "application/json, text/event-stream");
        for (int i = 0; i < headers.length; i += 2) {
            header(block, headers[i], headers[i + 1]);
        }
        last += 2;
        send(HEADERS, END_HEADERS | flags, last, block.toByteArray());
        return last;
    }

    /** A header as a literal that no table keeps. */
    private static void header(ByteArrayOutputStream block, String name, String value) {
        block.write(0);
        string(block, name);
        string(block, value);
    }

    private static void string(ByteArrayOutputStream block, String text) {
        int rest = text.length() - 0x7f;
        block.write(Math.min(text.length(), 0x7f));
        while (rest >= 0x80) {
            block.write((rest & 0x7f) | 0x80);
            rest >>= 7;
        }
        if (rest >= 0) {
            block.write(rest);
        }
        block.writeBytes(text.getBytes(UTF_8));
    }

    /** Cancels a stream. */
    public void reset(int stream) throws IOException {
        send(RESET, 0, stream, ByteBuffer.allocate(4).putInt(CANCEL).array());
    }

    /** Ends the connection as a proxy does that is killed. */
    public void kill() throws IOException {
        socket.setSoLinger(true, 0);
        socket.close();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
