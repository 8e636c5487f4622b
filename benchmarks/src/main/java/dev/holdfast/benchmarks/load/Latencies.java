package dev.holdfast.benchmarks.load;

import java.util.Arrays;
import java.util.Locale;

/** Durations in nanoseconds, all kept. For one thread. */
public final class Latencies {
    private long[] values = new long[1 << 12];
    private int size;

    public void add(long nanos) {
        if (size == values.length) {
            values = Arrays.copyOf(values, 2 * size);
        }
        values[size++] = nanos;
    }

    public int size() {
        return size;
    }

    /** The duration that this share of all does not exceed, in milliseconds. */
    public double millis(double share) {
        if (size == 0) {
            return Double.NaN;
        }
        Arrays.sort(values, 0, size);
        int index = (int) Math.ceil(share * size) - 1;
        return values[Math.max(0, Math.min(size - 1, index))] / 1e6;
    }

    /** Median, 99 % and maximum. */
    public String line() {
        return String.format(
                Locale.ROOT, "p50 %7.2f ms  p99 %7.2f ms  max %7.2f ms", millis(0.5), millis(0.99), millis(1));
    }
}
