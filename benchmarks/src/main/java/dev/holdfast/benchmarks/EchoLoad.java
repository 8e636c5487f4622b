package dev.holdfast.benchmarks;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Keeps every connection to one server busy for a while; all of it on the calling thread. */
final class EchoLoad implements AutoCloseable {
    private static final long LAST_ANSWERS_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long SELECT_MILLIS = 100;

    private final Target target;
    private final Selector selector = Selector.open();
    private final List<EchoConnection> connections = new ArrayList<>();

    EchoLoad(Target target, int count) throws IOException, InterruptedException {
        this.target = target;
        for (int i = 0; i < count; i++) {
            EchoConnection connection = new EchoConnection(target, target.open(), i);
            connection.register(selector);
            connections.add(connection);
        }
    }

    String name() {
        return target.name();
    }

    /** One round: every connection sends again as soon as it has its answer. */
    EchoRound run(int seconds) throws IOException, InterruptedException {
        Stats before = target.stats();
        Latencies latencies = new Latencies();
        int errors = 0;
        long start = System.nanoTime();
        long end = start + TimeUnit.SECONDS.toNanos(seconds);
        int waiting = connections.size();
        for (EchoConnection connection : connections) {
            connection.send();
        }
        while (waiting > 0 && System.nanoTime() - end < LAST_ANSWERS_NANOS) {
            selector.select(SELECT_MILLIS);
            for (SelectionKey key : selector.selectedKeys()) {
                EchoConnection connection = (EchoConnection) key.attachment();
                try {
                    if (!connection.receive()) {
                        continue;
                    }
                    latencies.add(connection.nanosSinceSent());
                    errors += connection.answered() ? 0 : 1;
                } catch (IOException | RuntimeException e) {
                    errors++;
                    connection.reconnect(selector);
                }
                if (System.nanoTime() - end < 0) {
                    connection.send();
                } else {
                    waiting--;
                }
            }
            selector.selectedKeys().clear();
        }
        for (EchoConnection connection : connections) {
            if (connection.waiting()) {
                errors++;
                connection.reconnect(selector);
            }
        }
        long nanos = System.nanoTime() - start;
        return EchoRound.of(name(), latencies, errors, nanos, before, target.stats());
    }

    @Override
    public void close() throws IOException {
        for (EchoConnection connection : connections) {
            connection.close();
        }
        selector.close();
    }
}
