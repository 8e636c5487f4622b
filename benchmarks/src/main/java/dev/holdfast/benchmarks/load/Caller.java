package dev.holdfast.benchmarks.load;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

/** One client that calls a tool, waits for the answer, and calls again on the same connection. */
final class Caller {
    private static final String STATELESS_REVISION = "2026-07-28";
    private static final String ENVELOPE = "\"io.modelcontextprotocol/protocolVersion\":\"" + STATELESS_REVISION
            + "\",\"io.modelcontextprotocol/clientCapabilities\":{},";
    private static final int FIRST_ID = 100_000_000;
    private static final int ID_DIGITS = 9;
    private static final int READ_BYTES = 256 << 10;
    /** Connections of one thread read one after the other. */
    private static final ThreadLocal<ByteBuffer> INPUT = ThreadLocal.withInitial(() -> ByteBuffer.allocate(READ_BYTES));

    private final Target target;
    private final ByteBuffer request;
    private final int idAt;
    private final ResponseParser response = new ResponseParser();
    private final AnswerCheck check;
    private SocketChannel channel;
    private int id;
    private long sentAt;
    private boolean waiting;

    Caller(Target target, Workload workload, String session, int index) throws IOException {
        this.target = target;
        this.check = target.speaksMcp() ? AnswerCheck.ofId() : AnswerCheck.ofResult();
        this.id = FIRST_ID + index * 1_000_000;
        boolean stateless = workload.sessions() == Workload.Sessions.NONE;
        String body = "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"method\":\"tools/call\",\"params\":{\"name\":\""
                + workload.tool() + "\",\"arguments\":" + workload.arguments()
                + ",\"_meta\":{" + (stateless ? ENVELOPE : "") + "\"progressToken\":\"p\"}}}";
        String head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:" + target.port()
                + "\r\nContent-Type: application/json\r\n"
                + "Accept: application/json, text/event-stream\r\n"
                + (stateless
                        ? "Mcp-Method: tools/call\r\nMcp-Name: " + workload.tool() + "\r\nMCP-Protocol-Version: "
                                + STATELESS_REVISION
                        : "Mcp-Session-Id: " + session + "\r\nMCP-Protocol-Version: " + Target.REVISION)
                + "\r\nContent-Length: " + body.length() + "\r\n\r\n";
        this.request = ByteBuffer.wrap((head + body).getBytes(US_ASCII));
        this.idAt = head.length() + body.indexOf(Integer.toString(id));
        this.channel = connect();
    }

    private SocketChannel connect() throws IOException {
        SocketChannel fresh = SocketChannel.open(target.address());
        fresh.setOption(StandardSocketOptions.TCP_NODELAY, true);
        fresh.configureBlocking(false);
        return fresh;
    }

    void register(Selector selector) throws IOException {
        channel.register(selector, SelectionKey.OP_READ, this);
    }

    /** Sends the next call. */
    void send() throws IOException {
        int digits = ++id;
        for (int i = ID_DIGITS - 1; i >= 0; i--) {
            request.put(idAt + i, (byte) ('0' + digits % 10));
            digits /= 10;
        }
        request.rewind();
        response.reset();
        waiting = true;
        sentAt = System.nanoTime();
        channel.write(request);
        if (request.hasRemaining()) {
            throw new IOException("a request of " + request.limit() + " bytes did not fit into an empty socket");
        }
    }

    /** Reads what has come; returns whether the answer is complete. */
    boolean receive() throws IOException {
        ByteBuffer input = INPUT.get();
        while (true) {
            int count = channel.read(input.clear());
            if (count < 0) {
                throw new IOException("the server closed the connection");
            }
            if (count == 0) {
                return false;
            }
            if (response.feed(input.flip())) {
                waiting = false;
                return true;
            }
        }
    }

    long nanosSinceSent() {
        return System.nanoTime() - sentAt;
    }

    boolean waiting() {
        return waiting;
    }

    /** Whether the answer is a result, and the one to the last call. */
    boolean answered() {
        return response.status() == 200 && check.holds(response.body(), id);
    }

    /** Replaces a connection that the server has ended because nothing was sent on it between two rounds. */
    void reconnectIfEnded(Selector selector) throws IOException {
        boolean ended;
        try {
            ended = channel.read(INPUT.get().clear()) != 0;
        } catch (IOException e) {
            ended = true;
        }
        if (ended) {
            reconnect(selector);
        }
    }

    /** Replaces a broken connection. */
    void reconnect(Selector selector) throws IOException {
        channel.close();
        waiting = false;
        channel = connect();
        register(selector);
    }

    void close() throws IOException {
        channel.close();
    }
}
