package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.load.Args;
import dev.holdfast.benchmarks.load.SoakClient;
import dev.holdfast.benchmarks.load.SoakTally;
import dev.holdfast.benchmarks.load.Target;
import dev.holdfast.benchmarks.server.Stats;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Full load with drops, resumes and sessions that nobody deletes; once a minute all clients pause, and the heap is measured when
 * its garbage is gone. Arguments: {@code minutes}, {@code connections} that call, {@code listeners}, {@code sse} clients of
 * HTTP+SSE, and one server. Ends with 1 if the heap of the last minute is more than 1.03 times that of the second.
 */
final class SoakMain {
    private static final double MOST_GROWTH = 1.03;
    private static final double MB = 1 << 20;
    private static final int BROADCAST_MILLIS = 100;

    private SoakMain() {}

    public static void main(String[] args) throws Exception {
        // so that no idle connection counts when the heap is measured
        System.setProperty("jdk.httpclient.keepalive.timeout", "5");
        Args options = Args.parse(args);
        Target target = options.targets().get(0);
        int minutes = options.number("minutes", 10);
        SoakTally tally = new SoakTally();
        List<Long> heaps = new ArrayList<>();
        System.out.println(
                "minute  heap after GC MB  direct MB  rss MB  threads  files  calls  messages  drops  resumes  sessions  failures");
        for (int minute = 1; minute <= minutes; minute++) {
            AtomicBoolean over = new AtomicBoolean();
            List<Thread> clients = new ArrayList<>();
            start(clients, options.number("connections", 64), () -> SoakClient.calls(target, tally, over));
            start(clients, options.number("listeners", 32), () -> SoakClient.listens(target, tally, over));
            start(clients, options.number("sse", 16), () -> SoakClient.converses(target, tally, over));
            target.control("broadcast?bytes=200&millis=" + BROADCAST_MILLIS + "&count=" + 60_000 / BROADCAST_MILLIS);
            TimeUnit.MINUTES.sleep(1);
            over.set(true);
            for (Thread client : clients) {
                client.join(TimeUnit.SECONDS.toMillis(30));
            }
            // until the sessions that nobody has deleted are gone
            TimeUnit.SECONDS.sleep(20);
            Stats stats = target.collected();
            heaps.add(stats.heap());
            System.out.printf(
                    Locale.ROOT,
                    "%6d  %16.2f  %9.2f  %6.0f  %7d  %5d  %s%n",
                    minute,
                    stats.heap() / MB,
                    stats.direct() / MB,
                    stats.rss() / MB,
                    stats.threads(),
                    stats.files(),
                    tally.line());
        }
        System.out.println(target.engine());
        if (heaps.size() > 1) {
            double ratio = (double) heaps.get(heaps.size() - 1) / heaps.get(1);
            System.out.printf(Locale.ROOT, "heap of the last minute to the second: %.3f%n", ratio);
            if (ratio > MOST_GROWTH) {
                System.exit(1);
            }
        }
    }

    /** Clients that go on whatever happens to them; the first failures of each kind are told. */
    private static void start(List<Thread> clients, int count, Soaking work) {
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> run(work), "soak-" + clients.size());
            thread.setDaemon(true);
            thread.start();
            clients.add(thread);
        }
    }

    private static void run(Soaking work) {
        try {
            TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextInt(500));
            work.run();
        } catch (Exception e) {
            System.out.println("a client gave up: " + e);
        }
    }

    /** What a client does for a minute. */
    interface Soaking {
        void run() throws Exception;
    }
}
