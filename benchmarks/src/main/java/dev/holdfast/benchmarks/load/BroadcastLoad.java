package dev.holdfast.benchmarks.load;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/**
 * A message to all clients that listen, some times, one after the other. A latency is from the sending to a client; what did not come, or
 * came twice, is an error. Connections are there in a round only, since those of two servers do not fit beside each other.
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
        // where one is lost, those behind it are not sent, and count as lost too
        boolean complete = true;
        for (int i = 1; i <= MESSAGES && complete; i++) {
            CompletableFuture<Void> sent = CompletableFuture.runAsync(this::tell);
            complete = group.receive(i, member -> latencies.add(System.nanoTime() - member.lastSentAt()));
            sent.join();
        }
        return 0;
    }

    @Override
    int messages() {
        return MESSAGES;
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
