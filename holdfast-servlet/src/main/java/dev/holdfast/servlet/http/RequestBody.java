package dev.holdfast.servlet.http;

import dev.holdfast.Refusal;
import dev.holdfast.servlet.guard.Rejection;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The body of one request, and the memory that the request takes: from the first byte of its body until nobody uses it any more, neither
 * the edge, which has yet to answer it, nor the call that it has become. It grows with what has come, not with what was announced. All
 * requests of an endpoint share a quota of memory; what a byte and a value of a body take is for the backend to say.
 *
 * <p>No thread ever waits for a body, unless a filter has put a stream before it that cannot be read otherwise, or the request stays on
 * its thread. For one thread at a time, but for {@link #use} and {@link #answered}.
 */
public final class RequestBody {
    /** The first piece of a body. */
    private static final int CHUNK = 8 << 10;
    /** A request of so many bytes finds room also where large ones fill most of it. */
    private static final int SMALL = 64 << 10;

    private static final int SCRATCH = 4 << 10;
    private static final byte[] NOTHING = {};

    // who uses the memory
    private static final int EDGE = 1;
    private static final int CALL = 2;

    private final RequestBodies bodies;
    private final AtomicInteger users = new AtomicInteger(EDGE);
    private String principal = "";
    private long held;
    private int announced;
    private int most;
    private byte[] bytes = NOTHING;
    private int size;
    private boolean ended;

    /** A body of which nothing has come. */
    RequestBody(RequestBodies bodies) {
        this.bodies = bodies;
    }

    /** Notes who asks, before a body comes. */
    void principal(String known) {
        principal = known;
    }

    /**
     * Returns the whole body if it has arrived already; else the exchange gets it later, on a thread of the container, or is answered.
     *
     * @param waits whether this thread waits for all of it: a silence is bounded by what the container allows, the whole by the deadline
     */
    Optional<byte[]> read(Exchange exchange, HttpServletRequest request, boolean waits) throws IOException {
        ServletInputStream in = request.getInputStream();
        expect(request.getContentLength());
        try {
            Optional<Rejection> fault = check();
            if (fault.isEmpty()) {
                fault = waits ? readAll(in) : readArrived(in);
            }
            if (fault.isEmpty() && !whole()) {
                exchange.defer();
                if (BodyArrival.wanted(exchange, in).begin()) {
                    return Optional.empty();
                }
                fault = readAll(in);
            }
            if (fault.isPresent()) {
                drop();
                exchange.send(fault.get());
                forget(exchange, in);
                return Optional.empty();
            }
        } catch (IOException | RuntimeException | Error e) {
            drop();
            throw e;
        }
        return Optional.of(take());
    }

    /** Expects as many bytes as are announced; -1 if nothing is announced. */
    void expect(int length) {
        announced = length;
        // one more than the limit tells a body that reaches it from one that exceeds it
        most = length < 0 ? (int) Math.min(bodies.limit + 1L, Integer.MAX_VALUE) : length;
    }

    /** Whether a part of the body has not arrived yet. The part that has arrived is read and dropped. */
    boolean unread(HttpServletRequest request) throws IOException {
        long left = request.getContentLengthLong();
        if (left <= 0) {
            return request.getHeader("Transfer-Encoding") != null;
        }
        // nothing of a body comes before somebody asks for it
        if (request.getHeader("Expect") == null && left <= bodies.limit) {
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
            forget(exchange, exchange.request().getInputStream());
        } else {
            exchange.end();
        }
    }

    /** Leaves the rest of a body to the threads of the container; ends the request if they cannot be told to read it. */
    private static void forget(Exchange exchange, ServletInputStream in) {
        exchange.defer();
        if (!BodyArrival.refused(exchange, in).begin()) {
            exchange.end();
        }
    }

    /** Says so if what is announced cannot come, before any of it does. A single piece is not read before there is room for it anyway. */
    Optional<Rejection> check() {
        if (announced <= CHUNK || announced > bodies.limit) {
            return Optional.empty();
        }
        long needed = bodies.cost.applyAsLong(announced, 0);
        return needed <= SMALL
                ? Optional.empty()
                : tooLarge(needed)
                        .or(() -> bodies.quota.refusal(principal, needed).map(Rejection::of))
                        .map(RequestBody::lastOfConnection);
    }

    /** Reads what has come with the head, so that it needs no other thread. */
    private Optional<Rejection> readArrived(ServletInputStream in) throws IOException {
        // Tomcat tells first that something is there, then how much; a read of nothing would wait for something
        while (announced >= 0 && !whole() && in.available() > 0) {
            Optional<Rejection> fault = grow();
            if (fault.isPresent() || readFrom(in) < 0) {
                return fault;
            }
        }
        return Optional.empty();
    }

    private Optional<Rejection> readAll(ServletInputStream in) throws IOException {
        long since = bodies.clock.now();
        while (!whole()) {
            Optional<Rejection> fault = grow();
            if (fault.isPresent()) {
                return fault;
            }
            if (readFrom(in) < 0 && !whole()) {
                return Optional.of(Rejection.brokenBody());
            }
            if (!whole() && bodies.clock.now() - since > bodies.deadlineNanos) {
                return Optional.of(Rejection.of(Refusal.BODY_TIME));
            }
        }
        return Optional.empty();
    }

    /** Whether all of it has come: as much as was announced, or all there was where nothing was announced. */
    private boolean whole() {
        return size == announced || (announced < 0 && ended);
    }

    /** Reads what there is, or waits for it, and returns how much; -1 at the end. */
    int readFrom(InputStream in) throws IOException {
        boolean full = size == bytes.length;
        int count = full ? in.read() : in.read(bytes, size, bytes.length - size);
        size += full ? 0 : Math.max(count, 0);
        ended = count < 0;
        return count;
    }

    /** Says so if more has come than may come. */
    Optional<Rejection> excess() {
        return size > bodies.limit ? Optional.of(Rejection.tooLarge(bodies.limit)) : Optional.empty();
    }

    /** Makes room for more to be read, or says why there is none. */
    Optional<Rejection> grow() {
        Optional<Rejection> excess = excess();
        if (excess.isPresent() || size < bytes.length || size == most) {
            return excess;
        }
        int larger = (int) Math.min(most, Math.max(CHUNK, 2L * size));
        Optional<Rejection> full = hold(bodies.cost.applyAsLong(larger, 0)).map(RequestBody::lastOfConnection);
        if (full.isEmpty()) {
            bytes = Arrays.copyOf(bytes, larger);
        }
        return full;
    }

    /** Returns what has arrived, whose memory stays taken until the request is over. */
    byte[] take() {
        byte[] body = bytes;
        if (size < bytes.length) {
            body = Arrays.copyOf(bytes, size);
            giveBack(held - bodies.cost.applyAsLong(size, 0));
        }
        bytes = NOTHING;
        return body;
    }

    /** Takes the memory that handling a parsed body needs; or says why it cannot. */
    public Optional<Rejection> handle(long length, long tokens) {
        return hold(bodies.cost.applyAsLong(length, tokens));
    }

    /** What else comes of the body is not read. */
    private static Rejection lastOfConnection(Rejection rejection) {
        return rejection.with("Connection", "close");
    }

    private Optional<Rejection> hold(long needed) {
        if (needed <= held) {
            return Optional.empty();
        }
        Optional<Refusal> refusal = needed <= SMALL
                ? bodies.quota.take(principal, needed - held)
                : bodies.quota.takeLarge(principal, needed - held);
        if (refusal.isEmpty()) {
            held = needed;
            return Optional.empty();
        }
        return tooLarge(needed).or(() -> refusal.map(Rejection::of));
    }

    /** Refuses what would find no room even if no other request took any: told to come back, the client would do so for ever. */
    private Optional<Rejection> tooLarge(long needed) {
        long largest = bodies.quota.mostLarge(principal);
        return needed <= Math.max(largest, SMALL)
                ? Optional.empty()
                : Optional.of(Rejection.tooMuchMemory()
                        .because("a request needs " + needed + " bytes of memory and may have " + largest
                                + ": give the JVM a larger heap"));
    }

    /** Lets go of a body that nobody needs, and of its memory; a second time does nothing. */
    void drop() {
        if (bytes.length > 0) {
            giveBack(held);
        }
        bytes = NOTHING;
        size = 0;
    }

    private void giveBack(long amount) {
        held -= amount;
        bodies.quota.add(principal, -amount);
    }

    /** Counts the call that the request has become as a user of its memory, until what is returned is run, however often. */
    public Runnable use() {
        users.getAndUpdate(now -> now | CALL);
        return () -> over(CALL);
    }

    /** The edge needs it no more. */
    void answered() {
        over(EDGE);
    }

    private void over(int user) {
        if (users.getAndUpdate(now -> now & ~user) == user) {
            giveBack(held);
        }
    }
}
