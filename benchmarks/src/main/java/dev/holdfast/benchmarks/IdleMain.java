package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.load.Args;
import dev.holdfast.benchmarks.load.ListeningClients;
import dev.holdfast.benchmarks.load.Target;
import dev.holdfast.benchmarks.server.Stats;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What sessions weigh while nothing happens: without a connection, then each with an idle listening GET. Arguments: {@code
 * sessions}, and one server.
 */
final class IdleMain {
    private static final int WARMUP_SESSIONS = 300;
    private static final double KB = 1024;

    private IdleMain() {}

    public static void main(String[] args) throws Exception {
        Args options = Args.parse(args);
        Target target = options.targets().get(0);
        int count = options.number("sessions", 5000);
        try (ListeningClients clients = new ListeningClients(target, time -> {})) {
            if (target.name().equals("sdk")) {
                target.control("open?count=" + WARMUP_SESSIONS);
                Stats before = target.collected();
                target.control("open?count=" + count);
                print(target, "SDK's own session", count, before, target.collected());
                return;
            }
            warmUp(target);
            Stats before = target.collected();
            List<String> sessions = sessions(target, count);
            if (!target.name().equals("floor")) {
                print(target, "session, no GET", count, before, target.collected());
            }
            clients.open(sessions);
            print(target, "with idle GET", count, before, target.collected());
            if (clients.ended() > 0) {
                System.out.println("the server ended " + clients.ended() + " streams");
            }
        }
    }

    /** So that neither classes nor pools are counted as the weight of sessions. */
    private static void warmUp(Target target) throws IOException, InterruptedException {
        try (ListeningClients clients = new ListeningClients(target, time -> {})) {
            List<String> sessions = sessions(target, WARMUP_SESSIONS);
            clients.open(sessions);
            for (String session : sessions) {
                target.delete(session);
            }
        }
    }

    private static List<String> sessions(Target target, int count) throws IOException, InterruptedException {
        List<String> sessions = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            sessions.add(target.open());
        }
        return sessions;
    }

    private static void print(Target target, String what, int count, Stats before, Stats after) {
        System.out.printf(
                Locale.ROOT,
                "%-9s %-18s n %d  per session: heap %6.2f KB  direct %5.2f KB  rss %6.2f KB  files %.3f"
                        + "  in all: threads %d (before %d)  heap %.1f MB  rss %.1f MB%n",
                target.name(),
                what,
                count,
                (after.heap() - before.heap()) / KB / count,
                (after.direct() - before.direct()) / KB / count,
                (after.rss() - before.rss()) / KB / count,
                (double) (after.files() - before.files()) / count,
                after.threads(),
                before.threads(),
                after.heap() / KB / KB,
                after.rss() / KB / KB);
    }
}
