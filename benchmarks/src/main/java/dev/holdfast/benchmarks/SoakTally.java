package dev.holdfast.benchmarks;

import java.util.concurrent.atomic.LongAdder;

/** What the clients of a soak have done so far. */
final class SoakTally {
    private static final int TOLD = 5;

    final LongAdder calls = new LongAdder();
    final LongAdder messages = new LongAdder();
    final LongAdder drops = new LongAdder();
    final LongAdder resumes = new LongAdder();
    final LongAdder sessions = new LongAdder();
    private final LongAdder failures = new LongAdder();

    void failed(Exception failure) {
        failures.increment();
        if (failures.sum() <= TOLD) {
            System.out.println("a client failed: " + failure);
        }
    }

    String line() {
        return calls + "  " + messages + "  " + drops + "  " + resumes + "  " + sessions + "  " + failures;
    }
}
