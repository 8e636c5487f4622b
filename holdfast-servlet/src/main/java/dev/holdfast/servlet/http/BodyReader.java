package dev.holdfast.servlet.http;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.io.BlockingPool;
import dev.holdfast.servlet.io.EdgeClock;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * Reads the bodies of an endpoint's requests without ever waiting for one on a thread, unless a filter has put a stream before it that
 * cannot be read otherwise, or the request stays on its thread. A body has a largest size and a deadline, and takes memory of a quota that
 * all share.
 */
public final class BodyReader {
    private static final int SCRATCH = 4 << 10;
    private static final int MAX_OVERDUE = 256;

    final EdgeClock clock;
    /** How long a body may take to arrive. */
    final long deadlineNanos;
    /** The bodies that are arriving. */
    final Set<BodyArrival> arrivals;
    /**
     * Answers requests whose bodies are overdue. Not shared with other work: a client that does not read its answer holds a thread for as
     * long as the container lets it.
     */
    final BlockingPool overdue = new BlockingPool("holdfast-refusal", MAX_OVERDUE);

    private final int limit;
    private final Quota quota;
    private final RequestMemory.Cost cost;

    /**
     * A reader.
     *
     * @param limit bytes that one body may have
     * @param deadline how long one may take to arrive
     * @param quota bytes of memory that all requests may take
     * @param cost what one of them takes
     */
    public BodyReader(int limit, Duration deadline, Quota quota, RequestMemory.Cost cost, EdgeClock clock) {
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

    /** The memory of a request whose body has yet to come. */
    RequestMemory memory() {
        return new RequestMemory(quota, cost);
    }

    /**
     * Returns the whole body if it has arrived already; else the exchange gets it later, on a thread of the container, or is answered.
     *
     * @param waits whether this thread waits for all of it: a silence is bounded by what the container allows, the whole by the deadline
     */
    Optional<byte[]> read(Exchange exchange, boolean waits) throws IOException {
        HttpServletRequest request = exchange.request();
        ServletInputStream in = request.getInputStream();
        BodyBuffer body = new BodyBuffer(exchange.memory(), limit, request.getContentLength());
        try {
            Optional<Rejection> fault = body.check();
            if (fault.isEmpty()) {
                fault = waits ? readAll(in, body) : readArrived(in, body);
            }
            if (fault.isEmpty() && !body.whole()) {
                exchange.defer();
                if (BodyArrival.wanted(exchange, in, body, this).begin()) {
                    return Optional.empty();
                }
                fault = readAll(in, body);
            }
            if (fault.isPresent()) {
                body.drop();
                exchange.send(fault.get());
                drop(exchange, in, body);
                return Optional.empty();
            }
        } catch (IOException | RuntimeException | Error e) {
            body.drop();
            throw e;
        }
        return Optional.of(body.take());
    }

    /** Whether a part of the body has not arrived yet. The part that has arrived is read and dropped. */
    boolean unread(HttpServletRequest request) throws IOException {
        long left = request.getContentLengthLong();
        if (left <= 0) {
            return request.getHeader("Transfer-Encoding") != null;
        }
        // nothing of a body comes before somebody asks for it
        if (request.getHeader("Expect") == null && left <= limit) {
            ServletInputStream in = request.getInputStream();
            byte[] scratch = new byte[(int) Math.min(left, SCRATCH)];
            while (left > 0 && in.available() > 0) {
                int count = in.read(scratch, 0, (int) Math.min(left, scratch.length));
                left -= count < 0 ? left : count;
            }
        }
        return left > 0;
    }

    /** Reads and drops for 2 s what still arrives of a body whose request was rejected. */
    void forget(Exchange exchange) throws IOException {
        if (exchange.request().getHeader("Expect") == null) {
            drop(exchange, exchange.request().getInputStream(), new BodyBuffer(exchange.memory(), limit, 0));
        } else {
            exchange.end();
        }
    }

    /** Leaves the rest of a body to the threads of the container; ends the request if they cannot be told to read it. */
    private void drop(Exchange exchange, ServletInputStream in, BodyBuffer body) {
        exchange.defer();
        if (!BodyArrival.refused(exchange, in, body, this).begin()) {
            exchange.end();
        }
    }

    /** Reads what has come with the head, so that it needs no other thread. */
    private static Optional<Rejection> readArrived(ServletInputStream in, BodyBuffer body) throws IOException {
        // Tomcat tells first that something is there, then how much; a read of nothing would wait for something
        while (body.announced() && !body.whole() && in.available() > 0) {
            Optional<Rejection> fault = body.grow();
            if (fault.isPresent() || body.readFrom(in) < 0) {
                return fault;
            }
        }
        return Optional.empty();
    }

    private Optional<Rejection> readAll(ServletInputStream in, BodyBuffer body) throws IOException {
        long since = clock.now();
        while (!body.whole()) {
            Optional<Rejection> fault = body.grow();
            if (fault.isPresent()) {
                return fault;
            }
            if (body.readFrom(in) < 0 && !body.whole()) {
                return Optional.of(Rejection.brokenBody());
            }
            if (!body.whole() && clock.now() - since > deadlineNanos) {
                return Optional.of(Rejection.of(Refusal.BODY_TIME));
            }
        }
        return Optional.empty();
    }
}
