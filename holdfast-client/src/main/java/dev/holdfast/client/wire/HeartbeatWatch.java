package dev.holdfast.client.wire;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How long a server may be silent before a connection to it counts as half-open: as long as was set, or three times the longest
 * silence that one of its heartbeats has ended. A server that sends no heartbeats may be silent for ever. Safe for any thread.
 */
public final class HeartbeatWatch {
    /** No limit. */
    public static final long UNLIMITED = Long.MAX_VALUE;

    private static final int TIMES = 3;
    /** A comment sooner than this after other bytes is no heartbeat. */
    private static final long SHORTEST_BEAT = TimeUnit.MILLISECONDS.toNanos(500);

    private final long set;
    private final AtomicLong longest = new AtomicLong();
    private volatile boolean headsAtOnce;

    /** Watches by this limit; zero stands for what the heartbeats teach. */
    public HeartbeatWatch(Duration set) {
        this.set = set.toNanos();
    }

    /** A comment came after so many nanoseconds of silence. */
    void beat(long silence) {
        if (silence >= SHORTEST_BEAT) {
            longest.accumulateAndGet(silence, Math::max);
        }
    }

    /** A stream began with something else than the message that its request waits for. */
    void headBeforeMessage() {
        headsAtOnce = true;
    }

    /** Whether this server is known to send the head of a stream at once. */
    public boolean headsAtOnce() {
        return headsAtOnce;
    }

    /** How long a stream may be silent, in nanoseconds. */
    long streamLimit() {
        if (set > 0) {
            return set;
        }
        long beat = longest.get();
        return beat == 0 ? UNLIMITED : TIMES * beat;
    }

    /** How long a response head may take, in nanoseconds: without a limit for a server that sends it with its first message. */
    long headLimit() {
        return set > 0 || headsAtOnce ? streamLimit() : UNLIMITED;
    }
}
