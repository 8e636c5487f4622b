package dev.holdfast.benchmarks.load;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** The messages of one phase, recorded by the one thread that reads them. */
public final class Arrivals {
    private static final long PATIENCE_SECONDS = 10;

    private final int expected;
    private final Semaphore arrived = new Semaphore(0);
    private final Latencies latencies = new Latencies();

    public Arrivals(int expected) {
        this.expected = expected;
    }

    /** A message is here that was sent at this time. */
    public void arrived(long sentAt) {
        latencies.add(System.nanoTime() - sentAt);
        arrived.release();
    }

    /** Waits for all of them, or until none comes any more; returns how many are missing. */
    public int await() throws InterruptedException {
        int missing = expected;
        while (missing > 0 && arrived.tryAcquire(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            missing--;
        }
        return missing;
    }

    /** How long they took; after {@link #await}. */
    public Latencies latencies() {
        return latencies;
    }
}
