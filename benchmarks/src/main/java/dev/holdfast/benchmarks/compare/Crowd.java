package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.load.HttpLoad;
import dev.holdfast.benchmarks.load.ListeningClients;
import dev.holdfast.benchmarks.load.Load;
import dev.holdfast.benchmarks.load.Sample;
import dev.holdfast.benchmarks.load.Target;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Sessions that are open and idle beside those under load. */
final class Crowd {
    private Crowd() {}

    static Peer.Loading of(int sessions) {
        return (target, workload, meter) -> {
            open(target, sessions);
            return new HttpLoad(target, workload, meter);
        };
    }

    /** Each with an idle listening GET, as long as the load is there. */
    static Peer.Loading attached(int sessions) {
        return (target, workload, meter) -> {
            ListeningClients clients = new ListeningClients(target, time -> {});
            clients.open(open(target, sessions));
            return new Attached(clients, new HttpLoad(target, workload, meter));
        };
    }

    static List<String> open(Target target, int sessions) throws IOException, InterruptedException {
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < sessions; i++) {
            ids.add(target.open());
        }
        return ids;
    }

    private record Attached(ListeningClients clients, Load load) implements Load {
        @Override
        public Sample run(Duration duration) throws IOException, InterruptedException {
            Sample sample = load.run(duration);
            if (clients.ended() > 0) {
                throw new IOException(clients.ended() + " listening streams were ended by the server");
            }
            return sample;
        }

        @Override
        public void close() throws IOException {
            clients.close();
            load.close();
        }
    }
}
