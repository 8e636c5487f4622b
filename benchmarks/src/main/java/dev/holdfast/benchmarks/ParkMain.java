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
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a session weighs that has left memory. Its client comes back to a restarted server, listens, and is gone. Arguments: {@code
 * parked}, how many; {@code from}, the first of them; and the server.
 */
final class ParkMain {
    private static final Pattern PARKED = Pattern.compile("parked=(\\d+)");
    /** Of how many sessions the store on disk still has something in memory: it forgets them a minute or two after their last use. */
    private static final Pattern IN_USE = Pattern.compile("inUse=(\\d+)");

    private static final int WARM_UP = 300;
    private static final int PATIENCE_SECONDS = 180;
    private static final long LOOK_MILLIS = 1_000;

    /** What is waited for. */
    private interface Condition {
        boolean holds() throws IOException, InterruptedException;
    }

    private ParkMain() {}

    public static void main(String[] args) throws Exception {
        Args options = Args.parse(args);
        Target target = options.targets().get(0);
        int from = options.number("from", 0);
        int count = options.number("parked", 8_000);
        park(target, from, WARM_UP);
        await(target, "forgotten by the store", () -> count(target, IN_USE) == 0);
        Stats before = target.collected();
        park(target, from + WARM_UP, count);
        print("just parked", count, before, target.collected());
        await(target, "forgotten by the store", () -> count(target, IN_USE) == 0);
        print("parked for a while", count, before, target.collected());
    }

    private static void park(Target target, int from, int count) throws IOException, InterruptedException {
        long wanted = count(target, PARKED) + count;
        try (ListeningClients clients = new ListeningClients(target, time -> {})) {
            List<String> sessions = new ArrayList<>();
            for (int number = from; number < from + count; number++) {
                sessions.add(Template.id(number));
            }
            clients.open(sessions);
        }
        await(target, "parked", () -> count(target, PARKED) >= wanted);
    }

    private static void await(Target target, String what, Condition condition)
            throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (!condition.holds()) {
            if (System.nanoTime() - deadline > 0) {
                throw new IOException("not all sessions are " + what + ": " + target.engine());
            }
            Thread.sleep(LOOK_MILLIS);
        }
    }

    private static long count(Target target, Pattern figure) throws IOException, InterruptedException {
        Matcher matcher = figure.matcher(target.engine());
        if (!matcher.find()) {
            throw new IOException("the server does not tell " + figure);
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
