package dev.holdfast.client.wire;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How long connections of one kind may be silent before they count as half-open: as long as was set, or three times what the
 * server's heartbeats have taught. Two heartbeats in a row on one connection have to agree before anything is learned, for a
 * comment may follow a message by chance; a limit that breaks a connection on which nothing came was wrong, or the server was away,
 * and is doubled. A server that sends no heartbeats may be silent for ever. Safe for any thread.
 */
public final class HeartbeatWatch {
    /** No limit. */
    public static final long UNLIMITED = Long.MAX_VALUE;

    private static final int TIMES = 3;
    private static final long FLOOR = TimeUnit.SECONDS.toNanos(10);
    private static final long LONGEST = TimeUnit.HOURS.toNanos(1);

    private final long set;
    private final AtomicLong learned = new AtomicLong();
    private volatile boolean headsAtOnce;

    /** Watches by this limit; zero stands for what the heartbeats teach. */
    public HeartbeatWatch(Duration set) {
        this.set = set.toNanos();
    }

    /** The heartbeats of one connection. For one thread at a time. */
    static final class Rhythm {
        /** A comment sooner than this after other bytes is no heartbeat. */
        private static final long SHORTEST = TimeUnit.MILLISECONDS.toNanos(500);
        /** Silences that differ by no more than this part of the longer one are of one rhythm. */
        private static final double AGREEMENT = 0.25;

        private final HeartbeatWatch watch;
        /** The longest silence since the line began that is being read: a heartbeat may come in two parts. */
        private long inLine;

        private long last;

        Rhythm(HeartbeatWatch watch) {
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
                long longer = Math.max(last, inLine);
                if (last > 0 && longer - Math.min(last, inLine) <= AGREEMENT * longer) {
                    watch.agreed(longer);
                }
                last = inLine;
            }
            if (betweenLines) {
                inLine = 0;
            }
        }
    }

    /** Two heartbeats in a row have ended silences of about this length, in nanoseconds. */
    void agreed(long silence) {
        learned.accumulateAndGet(Math.min(LONGEST, Math.max(FLOOR, TIMES * silence)), Math::max);
    }

    /** A connection was silent from its start to the limit. */
    void brokenInVain() {
        learned.updateAndGet(limit -> Math.min(LONGEST, 2 * limit));
    }

    /** A stream began with something else than the message that its request waits for. */
    void headBeforeMessage() {
        headsAtOnce = true;
    }

    /** Whether this server is known to send the head of such a stream at once. */
    public boolean headsAtOnce() {
        return headsAtOnce;
    }

    /** How long a stream may be silent, in nanoseconds. */
    long streamLimit() {
        if (set > 0) {
            return set;
        }
        long limit = learned.get();
        return limit == 0 ? UNLIMITED : limit;
    }

    /** How long a body may be silent that is no stream, in nanoseconds: no heartbeat teaches anything about it. */
    long bodyLimit() {
        return set > 0 ? set : UNLIMITED;
    }

    /** How long a response head may take, in nanoseconds: without a limit for a server that sends it with its first message. */
    long headLimit() {
        return set > 0 || headsAtOnce ? streamLimit() : UNLIMITED;
    }
}
