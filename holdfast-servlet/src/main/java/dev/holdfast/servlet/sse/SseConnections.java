package dev.holdfast.servlet.sse;

import dev.holdfast.WriteStall;
import dev.holdfast.servlet.io.BlockingPool;
import dev.holdfast.servlet.io.EdgeClock;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;

/** The open connections of an endpoint: their times, their clock, and the threads that write for them where a write may block. */
public final class SseConnections {
    private static final double JITTER = 0.1;
    private static final int BLOCKING_WRITERS = 32;

    final EdgeClock clock;
    /** How long a connection may be silent before a comment is written. */
    final long heartbeatNanos;
    /** What a connection tells its client to wait before a reconnect. */
    final long retryMillis;
    /** How long a peer may take no bytes before its connection is ended. */
    final Duration stall;
    /** Hears of connections whose peer takes no bytes. */
    final Consumer<WriteStall> stalls;

    final Set<SseConnection> open;
    // a pool for each: a client that does not read its answer holds a thread for as long as the container lets it
    /** The threads that write for a request whose own is busy. */
    public final BlockingPool helpers = new BlockingPool("holdfast-head", Integer.MAX_VALUE);
    /** The threads that write the head of a stream where that does not block. */
    final BlockingPool openings = new BlockingPool("holdfast-open", Integer.MAX_VALUE);
    /** The threads that write where nothing but a write that blocks is known. */
    public final BlockingPool blocking = new BlockingPool("holdfast-write", BLOCKING_WRITERS, Integer.MAX_VALUE);

    private final Duration maxAge;

    /**
     * Connections whose time a clock tells.
     *
     * @param heartbeat how long one may be silent before a comment is written
     * @param retry what one tells its client to wait before a reconnect
     * @param maxAge when one is ended in order; zero for never
     * @param stall how long a peer may take no bytes before its connection is ended
     */
    public SseConnections(
            EdgeClock clock,
            Duration heartbeat,
            Duration retry,
            Duration maxAge,
            Duration stall,
            Consumer<WriteStall> stalls) {
        this.clock = clock;
        this.heartbeatNanos = heartbeat.toNanos();
        this.retryMillis = retry.toMillis();
        this.maxAge = maxAge;
        this.stall = stall;
        this.stalls = stalls;
        this.open = clock.group();
    }

    /** The maximum age less up to 10 %, so that connections which opened together do not end together; 0 for none. */
    long jitteredMaxAgeNanos() {
        double share = 1 - JITTER * ThreadLocalRandom.current().nextDouble();
        return (long) (maxAge.toNanos() * share);
    }

    /** How many are open. */
    public int size() {
        return open.size();
    }

    /** Ends the threads. */
    public void stop() {
        helpers.stop();
        openings.stop();
        blocking.stop();
    }
}
