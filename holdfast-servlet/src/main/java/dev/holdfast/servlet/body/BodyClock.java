package dev.holdfast.servlet.body;

import dev.holdfast.servlet.io.EdgeClock;
import dev.holdfast.servlet.io.Writers;
import java.time.Duration;
import java.util.Set;

/** The deadlines of the bodies that are arriving, and the threads that answer those which are overdue. */
public final class BodyClock {
    private static final int MAX_WAITING = 256;

    private final EdgeClock clock;
    private final Set<BodyArrival> arrivals;
    private final long deadlineNanos;
    // not shared with other work: a client that does not read its answer holds a thread for as long as the container
    // lets it
    private final Writers refusals = new Writers("holdfast-refusal", MAX_WAITING);

    /**
     * A clock for bodies.
     *
     * @param deadline how long a body may take to arrive
     */
    public BodyClock(EdgeClock clock, Duration deadline) {
        this.clock = clock;
        this.arrivals = clock.group();
        this.deadlineNanos = deadline.toNanos();
    }

    /** Ends its threads. */
    public void stop() {
        refusals.stop();
    }

    void add(BodyArrival arrival) {
        arrivals.add(arrival);
    }

    void remove(BodyArrival arrival) {
        arrivals.remove(arrival);
    }

    long now() {
        return clock.now();
    }

    /** How long a body may take to arrive, in nanoseconds. */
    long deadlineNanos() {
        return deadlineNanos;
    }

    /** Answers a request whose body is overdue, on a thread that may block; false if too many such answers wait. */
    boolean refuse(Runnable answer) {
        return refusals.offer(answer);
    }
}
