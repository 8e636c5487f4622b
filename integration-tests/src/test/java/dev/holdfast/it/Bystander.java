package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A client in the midst of trouble that has no part in it: it listens, and calls echo again and again. Every call must be
 * answered, and every notification must come once and in order.
 */
final class Bystander implements AutoCloseable {
    private static final String END = "end";

    private final TestServer server;
    private final RawSession session;
    private final RawConnection listening;
    private final Duration pause;
    private final ExecutorService threads = Executors.newFixedThreadPool(3);
    private final AtomicInteger sent = new AtomicInteger();
    private final AtomicInteger received = new AtomicInteger();
    private final AtomicInteger called = new AtomicInteger();
    private final Future<?> sending;
    private final Future<?> calling;
    private final Future<?> reading;
    private volatile boolean over;

    /**
     * Begins.
     *
     * @param pause between two notifications, and two calls
     */
    Bystander(TestServer server, Duration pause) {
        this.server = server;
        this.pause = pause;
        this.session = RawSession.open(server.port());
        this.listening = session.stream(session.get());
        this.sending = threads.submit(this::send);
        this.calling = threads.submit(this::call);
        this.reading = threads.submit(this::read);
    }

    private void send() {
        while (!over) {
            server.log(session, "number " + sent.get());
            sent.incrementAndGet();
            Parallel.pass(pause);
        }
        server.log(session, END);
    }

    private void call() {
        while (!over) {
            session.assertAlive();
            called.incrementAndGet();
            Parallel.pass(pause);
        }
    }

    private void read() {
        for (String text = text(); !text.equals(END); text = text()) {
            assertThat(text).isEqualTo("number " + received.getAndIncrement());
        }
    }

    private String text() {
        return listening.message().json().at("/params/data").asString();
    }

    /** How many calls were answered. */
    int called() {
        return called.get();
    }

    /** How many notifications came. */
    int received() {
        return received.get();
    }

    /** Stops, and proves that nothing was lost. */
    void assertUnharmed() throws Exception {
        over = true;
        for (Future<?> each : List.of(sending, calling, reading)) {
            each.get(30, TimeUnit.SECONDS);
        }
        assertThat(received).hasValue(sent.get());
        assertThat(called).hasPositiveValue();
    }

    @Override
    public void close() {
        over = true;
        threads.shutdownNow();
        session.status(session.delete());
        listening.close();
    }
}
