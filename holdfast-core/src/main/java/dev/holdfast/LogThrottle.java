package dev.holdfast;

import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Keeps lines of one kind from filling a log, when those outside of the server can cause them: so many are written in ten seconds,
 * and the first one after that says how many were left out. Safe for use by any thread.
 */
public final class LogThrottle {
    private static final long WHILE_NANOS = 10_000_000_000L;
    private static final long LEAVE_OUT = -1;

    private final int most;
    private final LongSupplier clock;
    private long since;
    private int written;
    private long leftOut;

    /**
     * A throttle for one kind of line.
     *
     * @param most how many lines are written in ten seconds, 1 and up
     * @param clock monotonic nanoseconds, like {@link System#nanoTime}
     */
    public LogThrottle(int most, LongSupplier clock) {
        Range.require("most", most, 1, Integer.MAX_VALUE);
        this.most = most;
        this.clock = clock;
        this.since = clock.getAsLong();
    }

    /**
     * Has one more line written, unless there were too many.
     *
     * @param line writes it, with the given text at its end: how many were left out before it, or nothing
     */
    public void write(Consumer<String> line) {
        long before = take();
        if (before != LEAVE_OUT) {
            line.accept(before == 0 ? "" : ", and before that another " + before + " of this kind");
        }
    }

    private synchronized long take() {
        long now = clock.getAsLong();
        if (now - since >= WHILE_NANOS) {
            since = now;
            written = 0;
        }
        if (written == most) {
            leftOut++;
            return LEAVE_OUT;
        }
        written++;
        long before = leftOut;
        leftOut = 0;
        return before;
    }
}
