package dev.holdfast.gateway;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How much of the log one source may fill: so many lines in a while, then one that says how many were left out. Thread-safe. */
final class LineBudget {
    /** Enough for a stack trace or the greeting of a server. */
    static final int LINES = 100;

    static final long WHILE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final Logger log = LoggerFactory.getLogger(LineBudget.class);

    private final Object name;
    private final LongSupplier clock;
    private long since;
    private int taken;
    private long leftOut;

    /**
     * A budget of its own.
     *
     * @param name names the source in the log
     * @param clock monotonic, in nanoseconds
     */
    LineBudget(Object name, LongSupplier clock) {
        this.name = name;
        this.clock = clock;
        this.since = clock.getAsLong();
    }

    /** Whether one more line may be logged; if not, it counts as left out. */
    synchronized boolean take() {
        long now = clock.getAsLong();
        if (now - since >= WHILE_NANOS) {
            since = now;
            taken = 0;
            end();
        }
        if (taken == LINES) {
            leftOut++;
            return false;
        }
        taken++;
        return true;
    }

    /** Says how many lines were left out since that was said last, if any were. */
    synchronized void end() {
        if (leftOut > 0) {
            log.warn("{}: {} more lines were left out of the log", name, leftOut);
            leftOut = 0;
        }
    }
}
