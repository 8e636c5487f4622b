package dev.holdfast.benchmarks.load;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** A message to all clients that listen, some times, one after the other. A latency is from the sending to a client. */
public final class BroadcastLoad implements Load {
    private static final int MESSAGES = 10;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final Target target;
    private final Meter meter;
    private final ListeningGroup group;

    /** Opens the sessions; connections are there in a round only, since two servers with so many do not fit beside each other. */
    public BroadcastLoad(Target target, Workload workload, Meter meter) throws IOException, InterruptedException {
        this.target = target;
        this.meter = meter;
        this.group = new ListeningGroup(target, workload.connections());
    }

    /** Some messages, however long they take. What did not come is an error. */
    @Override
    public Sample run(Duration duration) throws IOException, InterruptedException {
        int absent = group.connect(0, member -> {});
        int count = group.members().size();
        Usage before = meter.usage();
        long busy = THREADS.getCurrentThreadCpuTime();
        Latencies latencies = new Latencies();
        long start = System.nanoTime();
        for (int i = 1; i <= MESSAGES; i++) {
            int expected = i * count;
            CompletableFuture<Void> sent = CompletableFuture.runAsync(this::tell);
            group.readUntil(
                    () -> latencies.size() >= expected,
                    member -> latencies.add(System.nanoTime() - member.lastSentAt()));
            sent.join();
        }
        long nanos = System.nanoTime() - start;
        busy = THREADS.getCurrentThreadCpuTime() - busy;
        Usage after = meter.usage();
        group.cut();
        if (!target.speaksMcp()) {
            // it notices by a write that its peers are gone, and so many connections more would not fit beside these
            target.tell();
        }
        return Sample.of(latencies, absent + MESSAGES * count - latencies.size(), nanos, busy, before, after);
    }

    private void tell() {
        try {
            target.tell();
        } catch (IOException e) {
            throw new IllegalStateException("nothing was told to the clients", e);
        } catch (InterruptedException e) {
            throw new IllegalStateException("ended while telling the clients", e);
        }
    }

    @Override
    public void close() throws IOException {
        group.close();
    }
}
