package dev.holdfast.benchmarks.load;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.atomic.LongAdder;

/**
 * A client to which much is sent, on its listening stream or on the stream of a call. A deaf one reads none of it; one that hears
 * shows what the sending alone costs.
 */
public final class DeafPeer implements AutoCloseable {
    private static final int RECEIVE_BUFFER = 4 << 10;
    private static final int READ_BYTES = 256 << 10;

    private final Target target;
    private final String session;
    private final boolean calls;
    private final LongAdder heard = new LongAdder();
    private final SocketChannel channel = SocketChannel.open();

    private DeafPeer(Target target, String session, boolean calls, boolean deaf) throws IOException {
        this.target = target;
        this.session = session;
        this.calls = calls;
        if (deaf) {
            channel.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BUFFER);
        }
        channel.connect(target.address());
    }

    public static DeafPeer open(Target target, boolean calls, boolean deaf) throws IOException, InterruptedException {
        DeafPeer peer = new DeafPeer(target, target.open(), calls, deaf);
        if (!calls) {
            peer.write("GET", "Accept: text/event-stream\r\n", "");
        }
        if (!deaf) {
            peer.hear();
        }
        return peer;
    }

    /** Has all that comes read, and thrown away. */
    private void hear() {
        Thread reader = new Thread(this::readAll, "hearing");
        reader.setDaemon(true);
        reader.start();
    }

    private void readAll() {
        ByteBuffer buffer = ByteBuffer.allocate(READ_BYTES);
        try {
            while (channel.read(buffer.clear()) >= 0) {
                heard.add(buffer.position());
            }
        } catch (IOException e) {
            // closed by close()
        }
    }

    /** The bytes that were read. */
    public long heard() {
        return heard.sum();
    }

    public boolean calls() {
        return calls;
    }

    /** Has messages sent to the listening stream; the session that is gone by now gets none. */
    public void send(int count, int bytes) throws InterruptedException {
        try {
            target.call(session, "notify", "{\"count\":" + count + ",\"tag\":\"" + "x".repeat(bytes) + "\"}");
        } catch (IOException e) {
            System.out.println("the deaf client's session: " + e.getMessage());
        }
    }

    /** Makes the call whose progress is sent. */
    public void call(int count, int rounds, int bytes) throws IOException {
        String body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"progress\","
                + "\"arguments\":{\"count\":" + count + ",\"rounds\":" + rounds + ",\"tag\":\"" + "x".repeat(bytes)
                + "\"},\"_meta\":{\"progressToken\":\"p\"}}}";
        write("POST", "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n", body);
    }

    private void write(String method, String headers, String body) throws IOException {
        String request = method + " /mcp HTTP/1.1\r\nHost: 127.0.0.1:" + target.port() + "\r\n" + headers
                + "Mcp-Session-Id: " + session + "\r\nMCP-Protocol-Version: " + Target.REVISION + "\r\n"
                + (body.isEmpty() ? "" : "Content-Length: " + body.length() + "\r\n") + "\r\n" + body;
        channel.write(ByteBuffer.wrap(request.getBytes(US_ASCII)));
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
