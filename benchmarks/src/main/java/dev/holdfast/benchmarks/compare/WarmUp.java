package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.load.Load;
import dev.holdfast.benchmarks.load.Sample;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Keeps a server busy until it gets no better: the cheapest of its last slices is no cheaper than the cheapest before, by processor
 * time per answer, which says less about whatever else the machine does than a rate would, and includes the compiler.
 */
final class WarmUp {
    private static final Duration SLICE = Duration.ofSeconds(3);
    private static final int LAST = 3;
    private static final int LEAST_SLICES = 6;
    private static final double GAIN = 0.97;

    private final Load load;
    private final int mostSlices;
    private final List<Double> costs = new ArrayList<>();

    /**
     * A warm-up.
     *
     * @param most it takes no longer
     */
    WarmUp(Load load, Duration most) {
        this.load = load;
        this.mostSlices = (int) Math.max(1, most.dividedBy(SLICE));
    }

    /** One more slice. */
    Sample slice() throws IOException, InterruptedException {
        Sample sample = load.run(SLICE);
        costs.add(sample.cpu());
        return sample;
    }

    boolean over() {
        return steady() || costs.size() >= mostSlices;
    }

    boolean steady() {
        int before = costs.size() - LAST;
        return costs.size() >= LEAST_SLICES && least(before, costs.size()) > GAIN * least(0, before);
    }

    int seconds() {
        return (int) SLICE.multipliedBy(costs.size()).toSeconds();
    }

    private double least(int from, int to) {
        return costs.subList(from, to).stream()
                .mapToDouble(Double::doubleValue)
                .min()
                .orElseThrow();
    }
}
