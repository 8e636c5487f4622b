package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.load.Args;
import dev.holdfast.benchmarks.load.Arrivals;
import dev.holdfast.benchmarks.load.ListeningClients;
import dev.holdfast.benchmarks.load.StuckPeer;
import dev.holdfast.benchmarks.load.Target;
import dev.holdfast.benchmarks.server.Stats;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How long a message takes from its broadcast to the clients that read, while some others do not. Arguments: {@code sessions},
 * {@code stalled} of them, {@code seconds}, {@code bytes} of a message, {@code millis} between two, and one server.
 */
final class StalledMain {
    private static final int WARMUP_SECONDS = 5;

    private StalledMain() {}

    public static void main(String[] args) throws Exception {
        Args options = Args.parse(args);
        Target target = options.targets().get(0);
        int stalled = options.number("stalled", 4);
        int healthy = options.number("sessions", 2000) - stalled;
        int millis = options.number("millis", 100);
        String message = "broadcast?bytes=" + options.number("bytes", 2048) + "&millis=" + millis + "&count=";
        int warmupCount = WARMUP_SECONDS * 1000 / millis;
        int count = options.number("seconds", 20) * 1000 / millis;
        Arrivals warmup = new Arrivals(warmupCount * healthy);
        Arrivals arrivals = new Arrivals(count * healthy);
        AtomicLong start = new AtomicLong(Long.MAX_VALUE);
        List<StuckPeer> peers = new ArrayList<>();
        try (ListeningClients clients =
                new ListeningClients(target, at -> (at < start.get() ? warmup : arrivals).arrived(at))) {
            List<String> sessions = new ArrayList<>();
            for (int i = 0; i < healthy; i++) {
                sessions.add(target.open());
            }
            clients.open(sessions);
            target.control(message + warmupCount);
            warmup.await();
            long stuck = 0;
            for (int i = 0; i < stalled; i++) {
                StuckPeer peer = new StuckPeer(target, target.open());
                peers.add(peer);
                stuck += peer.fill();
            }
            start.set(System.nanoTime());
            Stats before = target.control(message + count);
            int missing = arrivals.await();
            Stats after = target.stats();
            int left = 0;
            for (StuckPeer peer : peers) {
                left += peer.serverSocket().isPresent() ? 1 : 0;
                peer.close();
            }
            System.out.printf(
                    Locale.ROOT,
                    "%d healthy, %d stalled (%d bytes stuck, %d still stalled at the end): %s  messages %d  missing %d"
                            + "  streams ended %d  threads %d  server cpu per message %.1f us%n",
                    healthy,
                    stalled,
                    stuck,
                    left,
                    arrivals.latencies().line(),
                    count * healthy,
                    missing,
                    clients.ended(),
                    after.threads(),
                    (after.cpu() - before.cpu()) / 1e3 / count / healthy);
        }
    }
}
