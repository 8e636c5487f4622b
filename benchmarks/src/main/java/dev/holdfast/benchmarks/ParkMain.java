package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.load.Args;
import dev.holdfast.benchmarks.load.ListeningClients;
import dev.holdfast.benchmarks.load.Target;
import dev.holdfast.benchmarks.server.Stats;
import dev.holdfast.benchmarks.server.Template;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a session weighs that has left memory. Its client comes back to a restarted server, listens, and is gone. Arguments: {@code
 * parked}, how many; {@code from}, the first of them; and the server.
 */
final class ParkMain {
    private static final Pattern PARKED = Pattern.compile("parked=(\\d+)");
    private static final int WARM_UP = 300;
    private static final int PATIENCE_SECONDS = 120;
    /** A store on disk knows a session for a minute after its last use, and looks every minute for those. */
    private static final long FORGOTTEN_MILLIS = 150_000;

    private ParkMain() {}

    public static void main(String[] args) throws Exception {
        Args options = Args.parse(args);
        Target target = options.targets().get(0);
        int from = options.number("from", 0);
        int count = options.number("parked", 8_000);
        park(target, from, WARM_UP);
        Thread.sleep(FORGOTTEN_MILLIS);
        Stats before = target.collected();
        park(target, from + WARM_UP, count);
        print("just parked", count, before, target.collected());
        Thread.sleep(FORGOTTEN_MILLIS);
        print("parked for a while", count, before, target.collected());
    }

    private static void park(Target target, int from, int count) throws IOException, InterruptedException {
        long wanted = parked(target) + count;
        try (ListeningClients clients = new ListeningClients(target, time -> {})) {
            List<String> sessions = new ArrayList<>();
            for (int number = from; number < from + count; number++) {
                sessions.add(Template.id(number));
            }
            clients.open(sessions);
        }
        for (int left = PATIENCE_SECONDS; parked(target) < wanted; left--) {
            if (left == 0) {
                throw new IOException("only " + parked(target) + " of " + wanted + " were parked: " + target.engine());
            }
            Thread.sleep(1000);
        }
    }

    private static long parked(Target target) throws IOException, InterruptedException {
        Matcher matcher = PARKED.matcher(target.engine());
        if (!matcher.find()) {
            throw new IOException("the server tells of no parked sessions");
        }
        return Long.parseLong(matcher.group(1));
    }

    private static void print(String what, int count, Stats before, Stats after) {
        System.out.printf(
                Locale.ROOT,
                "%-18s n %d  per session: heap %5.0f bytes%n",
                what,
                count,
                (double) (after.heap() - before.heap()) / count);
    }
}
