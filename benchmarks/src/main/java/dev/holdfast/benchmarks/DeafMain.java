package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.load.Args;
import dev.holdfast.benchmarks.load.DeafPeer;
import dev.holdfast.benchmarks.load.HttpLoad;
import dev.holdfast.benchmarks.load.Latencies;
import dev.holdfast.benchmarks.load.Sample;
import dev.holdfast.benchmarks.load.Target;
import dev.holdfast.benchmarks.load.Workload;
import dev.holdfast.benchmarks.server.Stats;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * How long calls take beside a client that never reads while much is sent to it: on its listening stream, or with {@code call=1}
 * as progress on a call's own stream. Rounds
 * alone, beside one that reads as much, and beside a deaf one alternate. Arguments: {@code connections}, {@code rounds},
 * {@code seconds} (of a round, and of what is sent), {@code megabytes} (in each round), {@code call}, and one server.
 */
final class DeafMain {
    private static final int MESSAGE_BYTES = 64 << 10;
    private static final int MEGABYTE = 1 << 20;
    private static final int WARMUP_SECONDS = 30;
    private static final int PIECES_A_SECOND = 10;
    private static final int LAST_BYTES_SECONDS = 10;

    private DeafMain() {}

    public static void main(String[] args) throws Exception {
        Args options = Args.parse(args);
        Target target = options.targets().get(0);
        int seconds = options.number("seconds", 5);
        int messages = options.number("megabytes", 100) * (MEGABYTE / MESSAGE_BYTES);
        int pieces = seconds * PIECES_A_SECOND;
        boolean call = options.number("call", 0) == 1;
        Latencies toAlone = new Latencies();
        Latencies toHearing = new Latencies();
        List<DeafPeer> deaf = new ArrayList<>();
        ExecutorService sender = Executors.newSingleThreadExecutor();
        try (HttpLoad load =
                new HttpLoad(target, Workload.ECHO.over(options.number("connections", 64)), target::usage)) {
            load.run(Duration.ofSeconds(options.number("warmup", WARMUP_SECONDS)));
            Stats before = target.collected();
            for (int i = 1; i <= options.number("rounds", 5); i++) {
                Sample alone = load.run(Duration.ofSeconds(seconds));
                Sample hearing;
                try (DeafPeer peer = DeafPeer.open(target, call, false)) {
                    hearing = beside(load, peer, sender, messages, seconds);
                    requireHeard(peer, messages / pieces * pieces);
                }
                DeafPeer peer = DeafPeer.open(target, call, true);
                deaf.add(peer);
                Sample beside = beside(load, peer, sender, messages, seconds);
                toAlone.add((long) (beside.p99() / alone.p99() * 1e6));
                toHearing.add((long) (beside.p99() / hearing.p99() * 1e6));
                System.out.printf("round %-2d alone           %s%n", i, alone.line());
                System.out.printf("round %-2d beside hearing  %s%n", i, hearing.line());
                System.out.printf("round %-2d beside deaf     %s%n", i, beside.line());
                weigh(target, before, i);
            }
        } finally {
            sender.shutdownNow();
        }
        System.out.println(target.engine());
        for (DeafPeer peer : deaf) {
            peer.close();
        }
        System.out.printf(
                Locale.ROOT,
                "ratio of p99 beside deaf / alone: median %.2f  max %.2f;  / beside hearing: median %.2f  max %.2f%n",
                toAlone.millis(0.5),
                toAlone.millis(1),
                toHearing.millis(0.5),
                toHearing.millis(1));
    }

    private static Sample beside(HttpLoad load, DeafPeer peer, ExecutorService sender, int messages, int seconds)
            throws Exception {
        Future<?> sending = sender.submit(() -> {
            flood(peer, messages, seconds * PIECES_A_SECOND);
            return peer;
        });
        Sample round = load.run(Duration.ofSeconds(seconds));
        sending.get(1, TimeUnit.MINUTES);
        return round;
    }

    /** Else something else than what is sent would be measured. */
    private static void requireHeard(DeafPeer peer, int messages) throws IOException, InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LAST_BYTES_SECONDS);
        long expected = (long) messages * MESSAGE_BYTES;
        while (peer.heard() < expected && System.nanoTime() - end < 0) {
            TimeUnit.MILLISECONDS.sleep(100);
        }
        if (peer.heard() < expected) {
            throw new IOException("only " + peer.heard() + " of " + expected + " bytes came to one that hears");
        }
    }

    private static void weigh(Target target, Stats before, int deaf) throws IOException, InterruptedException {
        Stats after = target.collected();
        System.out.printf(
                Locale.ROOT,
                "heap after GC grown by %.1f MB, direct by %.1f MB, rss %.0f MB, with %d deaf clients so far%n",
                (after.heap() - before.heap()) / (double) MEGABYTE,
                (after.direct() - before.direct()) / (double) MEGABYTE,
                after.rss() / (double) MEGABYTE,
                deaf);
    }

    /** In so many pieces, at an even pace. */
    private static void flood(DeafPeer peer, int messages, int pieces) throws IOException, InterruptedException {
        if (peer.calls()) {
            peer.call(messages, pieces, MESSAGE_BYTES);
            return;
        }
        long start = System.nanoTime();
        for (int i = 0; i < pieces; i++) {
            peer.send(messages / pieces, MESSAGE_BYTES);
            long due = start + (i + 1) * TimeUnit.SECONDS.toNanos(1) / PIECES_A_SECOND;
            TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
        }
    }
}
