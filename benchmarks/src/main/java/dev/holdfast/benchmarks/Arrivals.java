package dev.holdfast.benchmarks;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** The messages of one phase, recorded by the one thread that reads them. */
final class Arrivals {
    private static final long PATIENCE_SECONDS = 10;

    private final int expected;
    private final Semaphore arrived = new Semaphore(0);
    private final Latencies latencies = new Latencies();

    Arrivals(int expected) {
        this.expected = expected;
    }

    /** A message is here that was sent at this time. */
    void arrived(long sentAt) {
        latencies.add(System.nanoTime() - sentAt);
        arrived.release();
    }

    /** Waits for all of them, or until none comes any more; returns how many are missing. */
    int await() throws InterruptedException {
        int missing = expected;
        while (missing > 0 && arrived.tryAcquire(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            missing--;
        }
        return missing;
    }

    /** How long they took; after {@link #await}. */
    Latencies latencies() {
        return latencies;
    }
}
