package dev.holdfast.benchmarks.load;

import java.util.concurrent.atomic.LongAdder;

/** What the clients of a soak have done so far. */
public final class SoakTally {
    private static final int TOLD = 5;

    final LongAdder calls = new LongAdder();
    final LongAdder messages = new LongAdder();
    final LongAdder drops = new LongAdder();
    final LongAdder resumes = new LongAdder();
    final LongAdder sessions = new LongAdder();
    private final LongAdder failures = new LongAdder();

    public void failed(Exception failure) {
        failures.increment();
        if (failures.sum() <= TOLD) {
            System.out.println("a client failed: " + failure);
        }
    }

    public String line() {
        return calls + "  " + messages + "  " + drops + "  " + resumes + "  " + sessions + "  " + failures;
    }
}
