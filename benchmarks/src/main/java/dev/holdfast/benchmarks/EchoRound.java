package dev.holdfast.benchmarks;

import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * What one round gave.
 *
 * @param rate answers per second
 * @param cpuMicros the server's processor time per answer
 * @param javaMicros the part of it that its Java threads used: without compiler and garbage collector
 * @param allocatedKb what the server allocated per answer
 */
record EchoRound(
        String name,
        double rate,
        double p50Millis,
        double p99Millis,
        double cpuMicros,
        double javaMicros,
        double allocatedKb,
        int errors) {

    static EchoRound of(String name, Latencies latencies, int errors, long nanos, Stats before, Stats after) {
        double answers = Math.max(1, latencies.size());
        return new EchoRound(
                name,
                answers * TimeUnit.SECONDS.toNanos(1) / nanos,
                latencies.millis(0.50),
                latencies.millis(0.99),
                (after.cpu() - before.cpu()) / answers / 1e3,
                (after.javaCpu() - before.javaCpu()) / answers / 1e3,
                (after.allocated() - before.allocated()) / answers / 1024,
                errors);
    }

    String line() {
        return String.format(
                Locale.ROOT,
                "%-9s %7.0f/s  p50 %6.2f ms  p99 %6.2f ms  cpu %6.1f us, of Java threads %6.1f us  allocated %5.1f KB  errors %d",
                name,
                rate,
                p50Millis,
                p99Millis,
                cpuMicros,
                javaMicros,
                allocatedKb,
                errors);
    }
}
