package dev.holdfast.benchmarks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * Calls of the echo tool, from many connections, at one server after the other: A B C A B C. Arguments: {@code connections},
 * {@code warmup} (seconds per server), {@code rounds}, {@code seconds} (of a round), then the servers; ratios are of the first
 * to each other one.
 */
final class EchoMain {
    private static final int WARMUP_SLICE_SECONDS = 5;

    private EchoMain() {}

    public static void main(String[] args) throws Exception {
        Args options = Args.parse(args);
        List<EchoLoad> loads = new ArrayList<>();
        for (Target target : options.targets()) {
            loads.add(new EchoLoad(target, options.number("connections", 64)));
        }
        for (int left = options.number("warmup", 30); left > 0; left -= WARMUP_SLICE_SECONDS) {
            for (EchoLoad load : loads) {
                System.out.println("warm-up  "
                        + load.run(Math.min(left, WARMUP_SLICE_SECONDS)).line());
            }
        }
        List<List<EchoRound>> rounds = new ArrayList<>();
        for (int i = 1; i <= options.number("rounds", 5); i++) {
            List<EchoRound> round = new ArrayList<>();
            for (EchoLoad load : loads) {
                round.add(load.run(options.number("seconds", 5)));
                System.out.printf(
                        "round %-2d %s%n", i, round.get(round.size() - 1).line());
            }
            rounds.add(round);
        }
        for (int other = 1; other < loads.size(); other++) {
            ratios("rate      ", rounds, other, EchoRound::rate);
            ratios("p99       ", rounds, other, EchoRound::p99Millis);
            ratios("cpu       ", rounds, other, EchoRound::cpuMicros);
            ratios("java cpu  ", rounds, other, EchoRound::javaMicros);
            ratios("allocated ", rounds, other, EchoRound::allocatedKb);
        }
        for (EchoLoad load : loads) {
            load.close();
        }
    }

    private static void ratios(
            String what, List<List<EchoRound>> rounds, int other, ToDoubleFunction<EchoRound> figure) {
        double[] ratios = rounds.stream()
                .mapToDouble(round -> figure.applyAsDouble(round.get(0)) / figure.applyAsDouble(round.get(other)))
                .sorted()
                .toArray();
        if (ratios.length > 0) {
            EchoRound first = rounds.get(0).get(0);
            System.out.printf(
                    Locale.ROOT,
                    "ratio    %s %s / %-9s min %.2f  median %.2f  max %.2f%n",
                    what,
                    first.name(),
                    rounds.get(0).get(other).name(),
                    ratios[0],
                    median(ratios),
                    Arrays.stream(ratios).max().orElseThrow());
        }
    }

    private static double median(double[] sorted) {
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
