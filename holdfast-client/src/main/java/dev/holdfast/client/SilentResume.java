package dev.holdfast.client;

import dev.holdfast.client.wire.HeartbeatWatch;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * How long a connection that resumed a stream may be silent before the stream is resumed once more: some servers send what was missed
 * and nothing of what follows. It is longer each time, until something new comes, so that a server which merely takes its time is
 * asked rarely. For one connection at a time.
 */
final class SilentResume {
    private static final long FIRST = TimeUnit.SECONDS.toNanos(5);
    private static final long LONGEST = TimeUnit.MINUTES.toNanos(1);

    private long next = FIRST;
    private long waited;
    private boolean limited;
    private volatile boolean replays;

    /** The limit of the connection that resumes the stream now, in nanoseconds; none if silence is found without it. */
    long limit(Link link) {
        limited = !link.findsSilence();
        return limited ? next : HeartbeatWatch.UNLIMITED;
    }

    /**
     * The connection was silent up to its limit.
     *
     * @return whether this is no failure: the limit was this one
     */
    boolean reached() {
        if (limited) {
            waited += next;
            next = Math.min(LONGEST, 2 * next);
        }
        return limited;
    }

    /** What is left of a time that began with the first of the connections on which nothing new has come; at least a second. */
    long leftMillis(Duration time) {
        return Math.max(1_000, time.toMillis() - TimeUnit.NANOSECONDS.toMillis(waited));
    }

    /** Something new has come. */
    void ended(boolean resumed) {
        next = FIRST;
        waited = 0;
        replays |= resumed;
    }

    /** Whether the server is known to send what was missed. */
    boolean replays() {
        return replays;
    }
}
