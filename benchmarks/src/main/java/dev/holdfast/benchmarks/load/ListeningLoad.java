package dev.holdfast.benchmarks.load;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;

/** Clients that listen and call nothing. A round takes as long as it takes; their sessions stay from one to the next. */
abstract class ListeningLoad implements Load {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    final Target target;
    final ListeningGroup group;
    private final Meter meter;

    /** Opens the sessions, and no connection. */
    ListeningLoad(Target target, Workload workload, Meter meter) throws IOException, InterruptedException {
        this.target = target;
        this.meter = meter;
        this.group = new ListeningGroup(target, workload.connections());
    }

    /** What comes before the part that is measured; returns the errors of that. */
    abstract int prepare() throws IOException, InterruptedException;

    /** What is measured; returns its errors but for those that the count of messages shows. */
    abstract int act(Latencies latencies) throws IOException;

    /** How many messages each client has received in a round, if none is lost and none comes twice. */
    abstract int messages();

    @Override
    public Sample run(Duration duration) throws IOException, InterruptedException {
        int errors = prepare();
        Usage before = meter.usage();
        long busy = THREADS.getCurrentThreadCpuTime();
        Latencies latencies = new Latencies();
        long start = System.nanoTime();
        errors += act(latencies);
        long nanos = System.nanoTime() - start;
        busy = THREADS.getCurrentThreadCpuTime() - busy;
        Usage after = meter.usage();
        group.readSurplus();
        errors += group.faults(messages());
        group.cut();
        return Sample.of(latencies, errors, nanos, busy, before, after);
    }

    @Override
    public void close() throws IOException {
        group.close();
    }
}
