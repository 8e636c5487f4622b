package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.load.Args;
import dev.holdfast.benchmarks.load.HttpSseClient;
import dev.holdfast.benchmarks.load.Latencies;
import java.util.Locale;

/**
 * What a busy conversation over HTTP+SSE pays for the look at its peer: the time of its POSTs at a server that looks, beside one
 * that has no need to, in interleaved rounds. Arguments: {@code rounds}, {@code calls}, and the servers {@code sse} and {@code
 * sse-grace}.
 */
final class ProbeMain {
    private ProbeMain() {}

    public static void main(String[] args) throws Exception {
        Args options = Args.parse(args);
        int rounds = options.number("rounds", 10);
        int calls = options.number("calls", 2000);
        try (HttpSseClient looking = new HttpSseClient(options.target("sse"));
                HttpSseClient trusting = new HttpSseClient(options.target("sse-grace"))) {
            round(looking, calls);
            round(trusting, calls);
            Latencies ratios = new Latencies();
            for (int i = 1; i <= rounds; i++) {
                double with = round(looking, calls).millis(0.5);
                double without = round(trusting, calls).millis(0.5);
                System.out.printf(
                        Locale.ROOT,
                        "round %2d  p50 of a POST: with the look %.3f ms, without %.3f ms, ratio %.3f%n",
                        i,
                        with,
                        without,
                        with / without);
                ratios.add((long) (with / without * 1e6));
            }
            System.out.printf(
                    Locale.ROOT, "ratio of p50: median %.3f  max %.3f%n", ratios.millis(0.5), ratios.millis(1));
        }
    }

    private static Latencies round(HttpSseClient client, int calls) throws Exception {
        Latencies posts = new Latencies();
        for (int i = 0; i < calls; i++) {
            posts.add(client.echo());
        }
        return posts;
    }
}
