package dev.holdfast.servlet.sse;

import dev.holdfast.WriteStall;
import dev.holdfast.servlet.io.EdgeClock;
import dev.holdfast.servlet.io.Writers;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** The time of all connections, and the threads that write their heads. */
public final class ConnectionClock {
    private static final double JITTER = 0.1;
    private static final int BLOCKING_WRITERS = 32;

    private final EdgeClock clock;
    private final LongSupplier time;
    private final Set<SseConnection> connections;
    private final Duration retry;
    private final long retryMillis;
    private final long heartbeatNanos;
    private final long maxAgeNanos;
    private final Duration stall;
    private final long stallNanos;
    private final Consumer<WriteStall> stalls;
    // a pool for each: a client that does not read its answer holds a thread for as long as the container lets it
    private final Writers helpers = new Writers("holdfast-head", Integer.MAX_VALUE);
    private final Writers openings = new Writers("holdfast-open", Integer.MAX_VALUE);
    private final Writers blocking = new Writers("holdfast-write", BLOCKING_WRITERS, Integer.MAX_VALUE);

    /**
     * A clock for connections.
     *
     * @param stalls hears of those whose peer takes no bytes
     */
    public ConnectionClock(EdgeClock clock, SseTimes times, Consumer<WriteStall> stalls) {
        this.stalls = stalls;
        this.clock = clock;
        this.time = clock.time();
        this.connections = clock.group();
        this.retry = times.retry();
        this.retryMillis = retry.toMillis();
        this.heartbeatNanos = times.heartbeat().toNanos();
        this.maxAgeNanos = times.maxAge().toNanos();
        this.stall = times.stall();
        this.stallNanos = stall.toNanos();
    }

    /** Ends its threads. */
    public void stop() {
        helpers.stop();
        openings.stop();
        blocking.stop();
    }

    /** The peer of a connection takes no bytes. */
    void stalled(WriteStall kind) {
        stalls.accept(kind);
    }

    /** How many connections are open. */
    public int size() {
        return connections.size();
    }

    void add(SseConnection connection) {
        connections.add(connection);
    }

    void remove(SseConnection connection) {
        connections.remove(connection);
    }

    /** The threads that write for a request whose own is busy, and may block. */
    Writers helpers() {
        return helpers;
    }

    /** The threads that write where nothing but a write that blocks is known. */
    Writers blocking() {
        return blocking;
    }

    /** Writes the head of a stream where that does not block. */
    void openNow(Runnable head) {
        openings.offer(head);
    }

    /** Runs a task later, on the scheduler's thread. */
    void later(Runnable task, long millis) {
        clock.later(task, millis);
    }

    long now() {
        return time.getAsLong();
    }

    Duration retry() {
        return retry;
    }

    long retryMillis() {
        return retryMillis;
    }

    long heartbeatNanos() {
        return heartbeatNanos;
    }

    Duration stallDeadline() {
        return stall;
    }

    long stallNanos() {
        return stallNanos;
    }

    /** The maximum age less up to 10 %, so that connections which opened together do not end together; 0 for none. */
    long jitteredMaxAge() {
        double share = 1 - JITTER * ThreadLocalRandom.current().nextDouble();
        return (long) (maxAgeNanos * share);
    }
}
