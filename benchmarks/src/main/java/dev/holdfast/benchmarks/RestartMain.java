package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.load.Args;
import dev.holdfast.benchmarks.load.Latencies;
import dev.holdfast.benchmarks.load.Target;
import dev.holdfast.benchmarks.server.Template;
import java.io.IOException;
import java.util.Locale;

/**
 * What the first who come back after a restart wait. Arguments: {@code from}, the first session to come back, and the server, which
 * has served nobody yet.
 */
final class RestartMain {
    private static final int WARM_UP = 20;
    private static final int RESTORES = 200;

    private RestartMain() {}

    public static void main(String[] args) throws Exception {
        Args options = Args.parse(args);
        Target target = options.targets().get(0);
        int next = options.number("from", 0);
        for (int i = 0; i < WARM_UP; i++) {
            target.stats();
        }
        Latencies first = new Latencies();
        restore(target, next++, first);
        Latencies fresh = new Latencies();
        long start = System.nanoTime();
        echo(target, target.open());
        fresh.add(System.nanoTime() - start);
        Latencies later = new Latencies();
        for (int i = 0; i < RESTORES; i++) {
            restore(target, next++, later);
        }
        System.out.printf(
                Locale.ROOT,
                "the first request, which restores: %.1f ms; then a new session and its first call: %.1f ms; then restores: %s%n",
                first.millis(1),
                fresh.millis(1),
                later.line());
    }

    private static void restore(Target target, int number, Latencies times) throws IOException, InterruptedException {
        long start = System.nanoTime();
        echo(target, Template.id(number));
        times.add(System.nanoTime() - start);
    }

    private static void echo(Target target, String session) throws IOException, InterruptedException {
        String answer = target.call(session, "echo", "{\"text\":\"hello\"}");
        if (!answer.contains("hello")) {
            throw new IOException("not the answer: " + answer);
        }
    }
}
