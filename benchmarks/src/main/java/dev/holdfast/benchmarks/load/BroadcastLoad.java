package dev.holdfast.benchmarks.load;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/**
 * A message to all clients that listen, some times, one after the other. A latency is from the sending to a client; what did not come is
 * an error. Connections are there in a round only, since those of two servers do not fit beside each other.
 */
public final class BroadcastLoad extends ListeningLoad {
    private static final int MESSAGES = 10;

    /** Opens the sessions, and no connection. */
    public BroadcastLoad(Target target, Workload workload, Meter meter) throws IOException, InterruptedException {
        super(target, workload, meter);
    }

    @Override
    int prepare() throws IOException, InterruptedException {
        if (!target.speaksMcp()) {
            // it notices by a write that its peers of the round before are gone
            target.tell();
        }
        return group.connect(0, member -> {});
    }

    @Override
    int act(Latencies latencies) throws IOException {
        int count = group.members().size();
        for (int i = 1; i <= MESSAGES; i++) {
            int expected = i * count;
            CompletableFuture<Void> sent = CompletableFuture.runAsync(this::tell);
            group.readUntil(
                    () -> latencies.size() >= expected,
                    member -> latencies.add(System.nanoTime() - member.lastSentAt()));
            sent.join();
        }
        return MESSAGES * count - latencies.size();
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
}
