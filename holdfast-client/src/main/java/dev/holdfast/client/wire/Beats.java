package dev.holdfast.client.wire;

import java.util.concurrent.TimeUnit;

/** The heartbeats of one connection. For one thread at a time. */
final class Beats {
    /** A comment sooner than this after other bytes is no heartbeat. */
    private static final long SHORTEST = TimeUnit.MILLISECONDS.toNanos(500);
    /** Silences that differ by no more than this part of the longer one are of one rhythm. */
    private static final double AGREEMENT = 0.25;

    private final HeartbeatWatch watch;
    /** The longest silence since the line began that is being read: a heartbeat may come in two parts. */
    private long inLine;

    private long last;

    Beats(HeartbeatWatch watch) {
        this.watch = watch;
    }

    /**
     * Bytes have come.
     *
     * @param silence how long there were none, in nanoseconds
     * @param commented whether a comment is among them
     * @param betweenLines whether they end with a line
     */
    void bytes(long silence, boolean commented, boolean betweenLines) {
        inLine = Math.max(inLine, silence);
        if (commented && inLine >= SHORTEST) {
            beat(inLine);
        }
        if (betweenLines) {
            inLine = 0;
        }
    }

    private void beat(long silence) {
        long longer = Math.max(last, silence);
        if (last > 0 && longer - Math.min(last, silence) <= AGREEMENT * longer) {
            watch.agreed(longer);
        }
        last = silence;
    }
}
