package dev.holdfast.benchmarks.load;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A client whose listening GET is open, and which has stopped to read it. */
public final class StuckPeer implements AutoCloseable {
    private static final int RECEIVE_BUFFER = 4 << 10;
    private static final int MESSAGE_BYTES = 64 << 10;
    private static final int MESSAGES = 100;
    private static final long REST_MILLIS = 50;

    private final Target target;
    private final String session;
    private final ListeningClient client;
    private final String opening;

    /** Opens the stream and reads its opening, and nothing after that. */
    public StuckPeer(Target target, String session) throws IOException {
        this.target = target;
        this.session = session;
        this.client = new ListeningClient(target, session, "", RECEIVE_BUFFER, time -> {});
        this.opening = readOpening();
    }

    private String readOpening() throws IOException {
        StringBuilder text = new StringBuilder();
        ByteBuffer buffer = ByteBuffer.allocate(1);
        try (Selector selector = Selector.open()) {
            client.channel().register(selector, SelectionKey.OP_READ);
            while (text.indexOf("data: \n\n") < 0) {
                selector.select(TimeUnit.SECONDS.toMillis(5));
                if (client.channel().read(buffer.clear()) != 1) {
                    throw new IOException("the listening stream did not open: " + text);
                }
                text.append((char) buffer.get(0));
            }
        }
        return text.toString();
    }

    /** The event id that the stream's opening carried. */
    public String lastEventId() {
        int from = opening.indexOf("\nid: ") + "\nid: ".length();
        return opening.substring(from, opening.indexOf('\n', from)).trim();
    }

    private int port() throws IOException {
        return ((InetSocketAddress) client.channel().getLocalAddress()).getPort();
    }

    /** The server's end of the connection, as long as it has one. */
    public Optional<TcpTable.Socket> serverSocket() throws IOException {
        return TcpTable.find(target.port(), port());
    }

    /** Has large messages sent to it until the server can write no more; returns the bytes that the kernel took. */
    public long fill() throws IOException, InterruptedException {
        String tag = "x".repeat(MESSAGE_BYTES);
        target.call(session, "notify", "{\"count\":" + MESSAGES + ",\"tag\":\"" + tag + "\"}");
        long last = -1;
        while (true) {
            long taken = serverSocket()
                    .orElseThrow(() -> new IOException("the server gave up a reader that is only slow"))
                    .unsent();
            if (taken == last) {
                break;
            }
            last = taken;
            Thread.sleep(REST_MILLIS);
        }
        if (last == 0 || last >= (long) MESSAGES * MESSAGE_BYTES) {
            throw new IOException("the server's writes did not block: " + last + " bytes wait");
        }
        return last;
    }

    @Override
    public void close() throws IOException {
        client.channel().close();
    }
}
