package dev.holdfast.benchmarks.load;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;

/** Many listening GETs, all read by one thread. */
public final class ListeningClients implements AutoCloseable {
    private static final int OPENING_AT_ONCE = 64;
    private static final int BUFFER_BYTES = 64 << 10;
    private static final int PATIENCE_SECONDS = 30;

    private final Target target;
    private final Selector selector = Selector.open();
    private final Semaphore opening = new Semaphore(OPENING_AT_ONCE);
    private final AtomicInteger ended = new AtomicInteger();
    private final Thread thread = new Thread(this::read, "listening-clients");
    private final LongConsumer times;

    /**
     * Starts to read.
     *
     * @param times gets the time in each message, on the reading thread
     */
    public ListeningClients(Target target, LongConsumer times) throws IOException {
        this.target = target;
        this.times = times;
        thread.setDaemon(true);
        thread.start();
    }

    /** Opens a GET for each session; returns when every response has begun. */
    public void open(List<String> sessions) throws IOException, InterruptedException {
        for (String session : sessions) {
            acquire(1);
            connect(session);
        }
        acquire(OPENING_AT_ONCE);
        opening.release(OPENING_AT_ONCE);
    }

    /** The same without waiting: there are servers that begin a response with its first message. Nothing can be opened behind it. */
    public void connect(List<String> sessions) throws IOException {
        for (String session : sessions) {
            connect(session);
        }
    }

    private void connect(String session) throws IOException {
        ListeningClient client = new ListeningClient(target, session, "", 0, times);
        selector.wakeup();
        client.channel().register(selector, SelectionKey.OP_READ, client);
    }

    private void acquire(int permits) throws IOException, InterruptedException {
        if (!opening.tryAcquire(permits, PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            throw new IOException("no response within " + PATIENCE_SECONDS + " s");
        }
    }

    /** How many streams the server has ended. */
    public int ended() {
        return ended.get();
    }

    private void read() {
        ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
        try {
            while (true) {
                selector.select();
                for (SelectionKey key : selector.selectedKeys()) {
                    read((ListeningClient) key.attachment(), buffer);
                }
                selector.selectedKeys().clear();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (ClosedSelectorException e) {
            // closed by close()
        }
    }

    private void read(ListeningClient client, ByteBuffer buffer) throws IOException {
        try {
            if (client.receive(buffer)) {
                opening.release();
            }
        } catch (IOException e) {
            ended.incrementAndGet();
            client.channel().close();
        }
    }

    @Override
    public void close() throws IOException {
        for (SelectionKey key : selector.keys()) {
            key.channel().close();
        }
        selector.close();
    }
}
