package dev.holdfast.benchmarks.load;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.function.LongConsumer;

/** One listening GET: the sending times in what it receives, and the event id that it received last. */
final class ListeningClient {
    private static final byte[] TIME = "\"at\":\"".getBytes(US_ASCII);
    private static final byte[] ID = "id: ".getBytes(US_ASCII);
    private static final byte[] OK = "HTTP/1.1 200".getBytes(US_ASCII);

    private final SocketChannel channel;
    private final LongConsumer times;
    private final StringBuilder id = new StringBuilder();
    private String cursor;
    private int headBytes;
    /** How many bytes of {@link #ID} the line begins with; -1 where it begins with something else. */
    private int idBytes;

    private int matched;
    private long time;

    /**
     * Connects and sends the request.
     *
     * @param cursor the event id that its session's client received last; empty for none
     * @param receiveBuffer bytes of the socket's receive buffer, 0 for the system's choice
     * @param times gets the time in each message
     */
    ListeningClient(Target target, String session, String cursor, int receiveBuffer, LongConsumer times)
            throws IOException {
        this.times = times;
        this.cursor = cursor;
        this.channel = SocketChannel.open();
        if (receiveBuffer > 0) {
            channel.setOption(StandardSocketOptions.SO_RCVBUF, receiveBuffer);
        }
        channel.connect(target.address());
        String request = "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:" + target.port() + "\r\nAccept: text/event-stream\r\n"
                + "Mcp-Session-Id: " + session + "\r\nMCP-Protocol-Version: " + Target.REVISION + "\r\n"
                + (cursor.isEmpty() ? "" : "Last-Event-ID: " + cursor + "\r\n") + "\r\n";
        channel.write(ByteBuffer.wrap(request.getBytes(US_ASCII)));
        channel.configureBlocking(false);
    }

    SocketChannel channel() {
        return channel;
    }

    /** The last event id received on this connection, or the one that it began with. */
    String cursor() {
        return cursor;
    }

    /** Reads what is there; returns whether the response's head has begun with this. */
    boolean receive(ByteBuffer buffer) throws IOException {
        boolean waiting = headBytes < OK.length;
        int count;
        while ((count = channel.read(buffer.clear())) > 0) {
            for (int i = 0; i < count; i++) {
                take(buffer.get(i));
            }
        }
        if (count < 0) {
            throw new IOException("the server ended a listening stream");
        }
        return waiting && headBytes == OK.length;
    }

    private void take(byte b) throws IOException {
        if (headBytes < OK.length) {
            if (b != OK[headBytes++]) {
                throw new IOException("a GET was refused");
            }
            return;
        }
        readId(b);
        if (matched < TIME.length) {
            matched = b == TIME[matched] ? matched + 1 : b == TIME[0] ? 1 : 0;
            time = 0;
        } else if (b >= '0' && b <= '9') {
            time = 10 * time + (b - '0');
        } else {
            matched = 0;
            times.accept(time);
        }
    }

    private void readId(byte b) {
        if (b == '\n') {
            if (idBytes == ID.length) {
                cursor = id.toString();
                id.setLength(0);
            }
            idBytes = 0;
        } else if (idBytes == ID.length) {
            id.append((char) b);
        } else if (idBytes >= 0) {
            idBytes = b == ID[idBytes] ? idBytes + 1 : -1;
        }
    }
}
