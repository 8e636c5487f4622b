package dev.holdfast.gateway.process;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks now and then whether a child has written to its error output, or has exited: one thread for all of them. The JDK has no
 * selector for the pipes of processes, and starts a thread to tell of an exit. Thread-safe.
 */
final class ChildWatch {
    private static final Logger log = LoggerFactory.getLogger(ChildWatch.class);
    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long MOST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** The pause after a look is this many times as long as the look: looking takes a hundredth of a processor. */
    private static final long PAUSE_FACTOR = 100;

    private final Workers workers;
    private final Set<Watched> all = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean watching = new AtomicBoolean();

    /** Something to be watched. */
    interface Watched {
        /** Looks without blocking; false ends the watch. */
        boolean look();
    }

    ChildWatch(Workers workers) {
        this.workers = workers;
    }

    /** Watches until {@link Watched#look} returns false. */
    void add(Watched watched) {
        all.add(watched);
        begin();
    }

    private void begin() {
        if (!all.isEmpty() && watching.compareAndSet(false, true)) {
            again(LEAST_PAUSE_NANOS);
        }
    }

    private void again(long pauseNanos) {
        workers.clock().schedule(() -> workers.blocking().execute(this::look), pauseNanos, TimeUnit.NANOSECONDS);
    }

    private void look() {
        long start = System.nanoTime();
        all.removeIf(watched -> !looked(watched));
        if (all.isEmpty()) {
            watching.set(false);
            begin();
        } else {
            long took = System.nanoTime() - start;
            again(Math.min(Math.max(PAUSE_FACTOR * took, LEAST_PAUSE_NANOS), MOST_PAUSE_NANOS));
        }
    }

    private static boolean looked(Watched watched) {
        try {
            return watched.look();
        } catch (RuntimeException e) {
            log.error("a server process could not be looked at", e);
            return true;
        }
    }
}
