package dev.holdfast.benchmarks;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The messages of one phase, recorded by the one thread that reads them. */
final class Arrivals {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long POLL_MILLIS = 20;

    private final int expected;
    private final AtomicInteger count = new AtomicInteger();
    private final Latencies latencies = new Latencies();

    Arrivals(int expected) {
        this.expected = expected;
    }

    /** A message is here that was sent at this time. */
    void arrived(long sentAt) {
        latencies.add(System.nanoTime() - sentAt);
        count.incrementAndGet();
    }

    /** Waits for all of them, or until none comes any more; returns how many are missing. */
    int await() throws InterruptedException {
        long lastNews = System.nanoTime();
        int last = 0;
        while (last < expected && System.nanoTime() - lastNews < PATIENCE_NANOS) {
            Thread.sleep(POLL_MILLIS);
            int now = count.get();
            lastNews = now == last ? lastNews : System.nanoTime();
            last = now;
        }
        return expected - last;
    }

    /** How long they took; after {@link #await}. */
    Latencies latencies() {
        return latencies;
    }
}
