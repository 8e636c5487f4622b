package dev.holdfast.benchmarks.load;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Keeps every connection to one server busy for a while; all of it on the calling thread. */
public final class HttpLoad implements Load {
    private static final long LAST_ANSWERS_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final long SELECT_MILLIS = 100;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final Meter meter;
    private final Selector selector = Selector.open();
    private final List<Caller> callers = new ArrayList<>();

    /**
     * Opens the sessions and the connections.
     *
     * @param meter tells what the server uses
     */
    public HttpLoad(Target target, Workload workload, Meter meter) throws IOException, InterruptedException {
        this(List.of(target), workload, meter);
    }

    /**
     * Opens the sessions and the connections, in turns at some nodes of one cluster. A session is opened at another node than the one
     * that is called, where there is another.
     *
     * @param meter tells what the servers use
     */
    public HttpLoad(List<Target> targets, Workload workload, Meter meter) throws IOException, InterruptedException {
        this.meter = meter;
        String shared = targets.get(0).open();
        for (int i = 0; i < workload.connections(); i++) {
            String session = switch (workload.sessions()) {
                case EACH -> targets.get((i + 1) % targets.size()).open();
                case SHARED -> shared;
                case NONE -> "";
            };
            Caller caller = new Caller(targets.get(i % targets.size()), workload, session, i);
            caller.register(selector);
            callers.add(caller);
        }
    }

    /** Every connection sends again as soon as it has its answer. */
    @Override
    public Sample run(Duration duration) throws IOException, InterruptedException {
        for (Caller caller : callers) {
            caller.reconnectIfEnded(selector);
        }
        Usage before = meter.usage();
        long busy = THREADS.getCurrentThreadCpuTime();
        Latencies latencies = new Latencies();
        long start = System.nanoTime();
        int errors = calls(latencies, start + duration.toNanos());
        errors += abandon();
        long nanos = System.nanoTime() - start;
        busy = THREADS.getCurrentThreadCpuTime() - busy;
        return Sample.of(latencies, errors, nanos, busy, before, meter.usage());
    }

    private int calls(Latencies latencies, long end) throws IOException {
        int errors = 0;
        int waiting = callers.size();
        for (Caller caller : callers) {
            caller.send();
        }
        while (waiting > 0 && System.nanoTime() - end < LAST_ANSWERS_NANOS) {
            selector.select(SELECT_MILLIS);
            for (SelectionKey key : selector.selectedKeys()) {
                Caller caller = (Caller) key.attachment();
                try {
                    if (!caller.receive()) {
                        continue;
                    }
                    latencies.add(caller.nanosSinceSent());
                    errors += caller.answered() ? 0 : 1;
                } catch (IOException | RuntimeException e) {
                    errors++;
                    caller.reconnect(selector);
                }
                if (System.nanoTime() - end < 0) {
                    caller.send();
                } else {
                    waiting--;
                }
            }
            selector.selectedKeys().clear();
        }
        return errors;
    }

    /** Counts those that are still without an answer, and makes them ready for the next round. */
    private int abandon() throws IOException {
        int errors = 0;
        for (Caller caller : callers) {
            if (caller.waiting()) {
                errors++;
                caller.reconnect(selector);
            }
        }
        return errors;
    }

    @Override
    public void close() throws IOException {
        for (Caller caller : callers) {
            caller.close();
        }
        selector.close();
    }
}
