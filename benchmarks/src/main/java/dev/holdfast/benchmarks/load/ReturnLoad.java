package dev.holdfast.benchmarks.load;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;

/**
 * All listening clients are cut at once, miss a message, and come back, each with its cursor. A client is back when it has the message;
 * that of a server without MCP, when its response begins.
 */
public final class ReturnLoad implements Load {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final Target target;
    private final Meter meter;
    private final ListeningGroup group;

    /** Opens the sessions, and lets each have its first cursor. */
    public ReturnLoad(Target target, Workload workload, Meter meter) throws IOException, InterruptedException {
        this.target = target;
        this.meter = meter;
        this.group = new ListeningGroup(target, workload.connections());
        int absent = group.connect(0, member -> {});
        if (absent > 0) {
            throw new IOException(absent + " clients could not connect");
        }
        group.cut();
    }

    /** Once, however long it takes. What was lost, and what came twice, are errors. */
    @Override
    public Sample run(Duration duration) throws IOException, InterruptedException {
        int missed = target.speaksMcp() ? 1 : 0;
        target.tell();
        Usage before = meter.usage();
        long busy = THREADS.getCurrentThreadCpuTime();
        Latencies latencies = new Latencies();
        long start = System.nanoTime();
        group.connect(missed, member -> latencies.add(System.nanoTime() - member.connectedAt()));
        long nanos = System.nanoTime() - start;
        busy = THREADS.getCurrentThreadCpuTime() - busy;
        Usage after = meter.usage();
        int errors = (int) group.members().stream()
                .filter(member -> member.messages() != missed)
                .count();
        group.cut();
        return Sample.of(latencies, errors, nanos, busy, before, after);
    }

    @Override
    public void close() throws IOException {
        group.close();
    }
}
