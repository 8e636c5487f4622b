package dev.holdfast.benchmarks.load;

import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * What one round gave.
 *
 * @param rate answers per second
 * @param p50 milliseconds that half of the answers took at most
 * @param p99 milliseconds that all but one in a hundred took at most
 * @param cpu the server's processor time per answer, in microseconds
 * @param allocated what the server allocated per answer, in KB
 * @param resident the server's memory at the end, in MB
 * @param busy the share of the round for which the load generator's only thread had work: near 1, it is what was measured
 * @param errors calls without their answer
 */
public record Sample(
        double rate, double p50, double p99, double cpu, double allocated, double resident, double busy, int errors) {

    private static final double KB = 1 << 10;
    private static final double MB = 1 << 20;

    static Sample of(Latencies latencies, int errors, long nanos, long busyNanos, Usage before, Usage after) {
        Sample bare = withoutLatencies(latencies.size(), nanos, before, after);
        return new Sample(
                bare.rate,
                latencies.millis(0.50),
                latencies.millis(0.99),
                bare.cpu,
                bare.allocated,
                bare.resident,
                (double) busyNanos / nanos,
                errors);
    }

    static Sample withoutLatencies(long count, long nanos, Usage before, Usage after) {
        double answers = Math.max(1, count);
        return new Sample(
                answers * TimeUnit.SECONDS.toNanos(1) / nanos,
                Double.NaN,
                Double.NaN,
                (after.cpu() - before.cpu()) / answers / 1e3,
                (after.allocated() - before.allocated()) / answers / KB,
                after.resident() / MB,
                0,
                0);
    }

    /** What one server would give that did both for each answer, and nothing else: here, and in the other sample. */
    public Sample plus(Sample other) {
        return new Sample(
                1 / (1 / rate + 1 / other.rate),
                Double.NaN,
                Double.NaN,
                cpu + other.cpu,
                allocated + other.allocated,
                Double.NaN,
                busy,
                errors + other.errors);
    }

    /**
     * What another process gave for the same answers.
     *
     * @param ours what the server had used before and behind them
     * @param others what the other process had used then
     */
    public Sample usedBy(List<Usage> ours, List<Usage> others) {
        double answers = (ours.get(1).cpu() - ours.get(0).cpu()) / cpu;
        return new Sample(
                rate,
                Double.NaN,
                Double.NaN,
                (others.get(1).cpu() - others.get(0).cpu()) / answers,
                Double.NaN,
                others.get(1).resident() / MB,
                busy,
                errors);
    }

    /** The same answers in another time. */
    public Sample over(double share) {
        return new Sample(rate * share, p50, p99, cpu, allocated, resident, busy, errors);
    }

    /** On one line. */
    public String line() {
        return String.format(
                Locale.ROOT,
                "%7.0f/s  p50 %6.2f ms  p99 %6.2f ms  cpu %6.1f us  allocated %6.1f KB  rss %4.0f MB  generator busy %3.0f %%  errors %d",
                rate,
                p50,
                p99,
                cpu,
                allocated,
                resident,
                100 * busy,
                errors);
    }
}
