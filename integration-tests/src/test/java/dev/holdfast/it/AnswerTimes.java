package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Times of answers, taken in turn: two of unknown things, which tell how much like follows like, and one of another's. */
final class AnswerTimes {
    private final int warmUp;
    /** Kolmogorov and Smirnov: two samples of this size differ by more in less than one of a million cases. */
    private final double chance;

    private final List<Long> unknown = new ArrayList<>();
    private final List<Long> again = new ArrayList<>();
    private final List<Long> foreign = new ArrayList<>();
    private int round;

    /** Sends a request, and waits for its answer. */
    interface Asking {
        Object ask(RawRequest request) throws IOException;
    }

    /** Times that count after some rounds. */
    AnswerTimes(int warmUp, int count) {
        this.warmUp = warmUp;
        this.chance = 2.7 * Math.sqrt(2.0 / count);
    }

    void round(Asking asking, RawRequest nobodys, RawRequest nobodysToo, RawRequest anothers) throws IOException {
        // whoever comes first in a round must not matter
        for (int i = 0; i < 3; i++) {
            switch ((round + i) % 3) {
                case 0 -> take(unknown, asking, nobodys);
                case 1 -> take(again, asking, nobodysToo);
                default -> take(foreign, asking, anothers);
            }
        }
        round++;
    }

    private void take(List<Long> times, Asking asking, RawRequest request) throws IOException {
        long start = System.nanoTime();
        asking.ask(request);
        if (round >= warmUp) {
            times.add(System.nanoTime() - start);
        }
    }

    /** The other's differ from the unknown no more than the unknown among themselves, but for chance. */
    void assertAlike(String what) {
        assertThat(distance(foreign, unknown)).as("%s: %s", what, this).isLessThan(distance(again, unknown) + chance);
    }

    /** As {@link #assertAlike}, but for what no stranger can ask: half as long again is close. */
    void assertClose(String what) {
        assertThat(median(foreign)).as("%s: %s", what, this).isLessThan(1.5 * Math.max(median(unknown), median(again)));
    }

    /** The largest difference between the shares of both that are below any time. */
    private static double distance(List<Long> one, List<Long> other) {
        long[] a = one.stream().mapToLong(Long::longValue).sorted().toArray();
        long[] b = other.stream().mapToLong(Long::longValue).sorted().toArray();
        double largest = 0;
        for (int i = 0, j = 0; i < a.length && j < b.length; ) {
            long at = Math.min(a[i], b[j]);
            while (i < a.length && a[i] <= at) {
                i++;
            }
            while (j < b.length && b[j] <= at) {
                j++;
            }
            largest = Math.max(largest, Math.abs((double) i / a.length - (double) j / b.length));
        }
        return largest;
    }

    private static double median(List<Long> times) {
        return times.stream().sorted().skip(times.size() / 2).findFirst().orElseThrow() / 1e3;
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "medians in us: foreign %.1f, unknown %.1f and %.1f; distance foreign/unknown %.4f, unknown/unknown %.4f",
                median(foreign),
                median(unknown),
                median(again),
                distance(foreign, unknown),
                distance(again, unknown));
    }
}
