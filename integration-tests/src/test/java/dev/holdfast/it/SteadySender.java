package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Has a server send a log message every few milliseconds, from when it is made until it is stopped. */
final class SteadySender implements AutoCloseable {
    private static final long PERIOD_MILLIS = 3;

    private final ScheduledExecutorService executor = new ScheduledThreadPoolExecutor(1);
    private final List<String> sent = Collections.synchronizedList(new ArrayList<>());
    private final Consumer<String> log;

    SteadySender(TestServer server) {
        this(server::log);
    }

    /**
     * The same for any server.
     *
     * @param log sends a message
     */
    SteadySender(Consumer<String> log) {
        this.log = log;
        var unused = executor.scheduleAtFixedRate(this::send, 0, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void send() {
        String text = "steady " + sent.size();
        log.accept(text);
        sent.add(text);
    }

    /** Stops; returns the text of each message that was sent, in order. */
    List<String> stop() {
        close();
        return List.copyOf(sent);
    }

    @Override
    public void close() {
        executor.shutdown();
        try {
            assertThat(executor.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
    }
}
