package dev.holdfast.servlet.body;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.servlet.guard.Rejection;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;

/**
 * Reads a request's body without ever waiting for it on a thread, unless a filter has put a stream before it that cannot be read
 * otherwise. A body has a largest size and a deadline, and takes memory of a quota that
 * all share.
 */
public final class BodyReader {
    private static final int SCRATCH = 4 << 10;

    private final int limit;
    private final Quota quota;
    private final RequestMemory.Cost cost;
    private final BodyClock clock;

    /**
     * A reader.
     *
     * @param limit bytes that one body may have
     * @param quota bytes of memory that all requests may take
     * @param cost what one of them takes
     */
    public BodyReader(int limit, Quota quota, RequestMemory.Cost cost, BodyClock clock) {
        this.limit = limit;
        this.quota = quota;
        this.cost = cost;
        this.clock = clock;
    }

    /** The memory of a request whose body has yet to come. */
    public RequestMemory memory() {
        return new RequestMemory(quota, cost);
    }

    /** Returns the whole body if it has arrived already; else it is handed over later, on a thread of the container. */
    public Optional<byte[]> read(HttpServletRequest request, HttpServletResponse response, BodyTaker taker)
            throws IOException {
        return read(request, response, taker, BodyReader::readArrived);
    }

    /**
     * Returns the whole body, for which this thread waits; empty if it was refused. A silence is bounded by what the container allows,
     * all of it by the deadline.
     */
    public Optional<byte[]> await(HttpServletRequest request, HttpServletResponse response, BodyTaker taker)
            throws IOException {
        return read(request, response, taker, this::readAll);
    }

    /** How much of a body is read at once. */
    private interface FirstPart {
        Optional<Rejection> read(ServletInputStream in, BodyBuffer body) throws IOException;
    }

    private Optional<byte[]> read(
            HttpServletRequest request, HttpServletResponse response, BodyTaker taker, FirstPart first)
            throws IOException {
        ServletInputStream in = request.getInputStream();
        BodyBuffer body = new BodyBuffer(taker.memory(), limit, request.getContentLength());
        try {
            Optional<Rejection> fault = body.check();
            if (fault.isEmpty()) {
                fault = first.read(in, body);
            }
            if (fault.isEmpty() && !body.whole()) {
                if (later(request, response, BodyArrival.wanted(in, body, clock, taker))) {
                    return Optional.empty();
                }
                fault = readAll(in, body);
            }
            if (fault.isPresent()) {
                body.drop();
                taker.refuse(fault.get());
                drop(request, response, BodyArrival.refused(in, body, clock, taker), taker);
                return Optional.empty();
            }
        } catch (IOException | RuntimeException | Error e) {
            body.drop();
            throw e;
        }
        return Optional.of(body.take());
    }

    /** Whether a part of the body has not arrived yet. The part that has arrived is read and dropped. */
    public boolean unread(HttpServletRequest request) throws IOException {
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

    /** Reads and drops for 2 s what still arrives of a body that was rejected. */
    public void forget(HttpServletRequest request, HttpServletResponse response, BodyTaker taker) throws IOException {
        if (request.getHeader("Expect") == null) {
            BodyBuffer nothing = new BodyBuffer(taker.memory(), limit, 0);
            drop(request, response, BodyArrival.refused(request.getInputStream(), nothing, clock, taker), taker);
        } else {
            taker.end();
        }
    }

    private static void drop(
            HttpServletRequest request, HttpServletResponse response, BodyArrival rest, BodyTaker taker) {
        if (!later(request, response, rest)) {
            taker.end();
        }
    }

    /** Leaves the rest of a body to the threads of the container; false if they cannot be told to read it. */
    private static boolean later(HttpServletRequest request, HttpServletResponse response, BodyArrival arrival) {
        if (!request.isAsyncStarted()) {
            AsyncContext context = request.startAsync(request, response);
            context.setTimeout(0);
        }
        return arrival.begin();
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
            if (!body.whole() && clock.now() - since > clock.deadlineNanos()) {
                return Optional.of(Rejection.of(Refusal.BODY_TIME));
            }
        }
        return Optional.empty();
    }
}
