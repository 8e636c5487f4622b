package dev.holdfast.benchmarks.load;

import java.io.IOException;

/**
 * All listening clients are cut at once, miss a message, and come back, each with its cursor. A client is back when it has the message;
 * that of a server without MCP, when its response begins. What was lost, and what came twice, are errors.
 */
public final class ReturnLoad extends ListeningLoad {
    private final int missed;

    /** Opens the sessions, and lets each have its first cursor. */
    public ReturnLoad(Target target, Workload workload, Meter meter) throws IOException, InterruptedException {
        super(target, workload, meter);
        this.missed = target.speaksMcp() ? 1 : 0;
        int absent = group.connect(0, member -> {});
        if (absent > 0) {
            throw new IOException(absent + " clients could not connect");
        }
        group.cut();
    }

    @Override
    int prepare() throws IOException, InterruptedException {
        target.tell();
        return 0;
    }

    @Override
    int act(Latencies latencies) throws IOException {
        int absent = group.connect(missed, member -> latencies.add(System.nanoTime() - member.connectedAt()));
        // of a message that is waited for the count tells
        return missed == 0 ? absent : 0;
    }

    @Override
    int messages() {
        return missed;
    }
}
