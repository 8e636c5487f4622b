package dev.holdfast.benchmarks.result;

import java.util.Arrays;

/** A figure over all rounds. */
public record Spread(double least, double median, double most) {
    /** Of these values, one for each round. */
    public static Spread of(double... values) {
        double[] sorted = Arrays.stream(values).sorted().toArray();
        int middle = sorted.length / 2;
        double median = sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
        return new Spread(sorted[0], median, sorted[sorted.length - 1]);
    }

    /** Whether there was anything to measure. */
    public boolean known() {
        return !Double.isNaN(median);
    }
}
