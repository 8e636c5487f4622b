package dev.holdfast.servlet.http;

import dev.holdfast.Quota;
import dev.holdfast.servlet.io.BlockingPool;
import dev.holdfast.servlet.io.EdgeClock;
import java.time.Duration;
import java.util.Set;
import java.util.function.LongBinaryOperator;

/** What the bodies of an endpoint's requests share: their bounds, the memory for all of them, and who ends those that are overdue. */
public final class RequestBodies {
    private static final int MAX_OVERDUE = 256;

    /** Bytes that one body may have. */
    final int limit;
    /** How long a body may take to arrive. */
    final long deadlineNanos;
    /** Bytes of memory that all requests may take. */
    final Quota quota;
    /** What a request takes of it whose body has so many bytes and JSON tokens. */
    final LongBinaryOperator cost;

    final EdgeClock clock;
    /** The bodies that are arriving. */
    final Set<BodyArrival> arrivals;
    /**
     * Answers requests whose bodies are overdue. Not shared with other work: a client that does not read its answer holds a thread for as
     * long as the container lets it.
     */
    final BlockingPool overdue = new BlockingPool("holdfast-refusal", MAX_OVERDUE);

    /**
     * Bodies with these bounds.
     *
     * @param limit bytes that one body may have
     * @param deadline how long one may take to arrive
     * @param quota bytes of memory that all requests may take
     * @param cost what a request takes of it, by the bytes and JSON tokens of its body
     */
    public RequestBodies(int limit, Duration deadline, Quota quota, LongBinaryOperator cost, EdgeClock clock) {
        this.limit = limit;
        this.deadlineNanos = deadline.toNanos();
        this.quota = quota;
        this.cost = cost;
        this.clock = clock;
        this.arrivals = clock.group();
    }

    /** Ends its threads. */
    public void stop() {
        overdue.stop();
    }
}
