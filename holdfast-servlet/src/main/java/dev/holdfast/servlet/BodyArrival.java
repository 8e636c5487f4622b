package dev.holdfast.servlet;

import dev.holdfast.Refusal;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A body that arrives bit by bit. The container's threads bring it, the clock may find it overdue: whoever comes first to its
 * end ends the request.
 *
 * <p>What a client still sends of a refused body is taken for a moment, and forgotten: a connection that is closed while
 * something comes is reset, and the client would never read its answer.
 */
final class BodyArrival implements ReadListener {
    private static final Logger log = LoggerFactory.getLogger(BodyArrival.class);
    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final int SCRATCH = 4 << 10;

    /** WANTED to REFUSED to OVER, or from WANTED to OVER; under the lock. */
    private enum State {
        WANTED,
        REFUSED,
        OVER
    }

    private final ReentrantLock reading = new ReentrantLock();
    private final ServletInputStream in;
    private final BodyBuffer body;
    private final ConnectionClock clock;
    private final BodyTaker taker;
    private State state;
    private volatile long since;
    private volatile long patience;
    private long forgotten;

    private BodyArrival(
            State state,
            ServletInputStream in,
            BodyBuffer body,
            ConnectionClock clock,
            BodyTaker taker,
            long patience) {
        this.state = state;
        this.in = in;
        this.body = body;
        this.clock = clock;
        this.taker = taker;
        this.since = clock.now();
        this.patience = patience;
    }

    /** A body to read. */
    static BodyArrival wanted(ServletInputStream in, BodyBuffer body, ConnectionClock clock, BodyTaker taker) {
        return new BodyArrival(State.WANTED, in, body, clock, taker, clock.requestNanos());
    }

    /** A body whose refusal is answered already. */
    static BodyArrival refused(ServletInputStream in, BodyBuffer body, ConnectionClock clock, BodyTaker taker) {
        return new BodyArrival(State.REFUSED, in, body, clock, taker, LINGER_NANOS);
    }

    /** Begins to read, on an asynchronous request. */
    void begin() {
        clock.add(this);
        try {
            in.setReadListener(this);
        } catch (RuntimeException e) {
            over();
            throw e;
        }
    }

    @Override
    public void onDataAvailable() throws IOException {
        Optional<Rejection> fault = Optional.empty();
        boolean more = true;
        reading.lock();
        try {
            while (more && fault.isEmpty() && state != State.OVER && in.isReady()) {
                if (state == State.WANTED) {
                    fault = body.grow();
                    more = fault.isPresent() || body.readFrom(in) >= 0;
                    fault = fault.or(body::excess);
                } else {
                    more = forget();
                }
            }
            if (fault.isPresent()) {
                state = State.REFUSED;
                since = clock.now();
                patience = LINGER_NANOS;
                body.drop();
            }
        } finally {
            reading.unlock();
        }
        fault.ifPresent(taker::refuse);
        if (forgotten > body.limit()) {
            end(Rejection.of(Refusal.BODY_SIZE));
        }
    }

    /** Takes a piece to forget it; returns whether to go on. */
    private boolean forget() throws IOException {
        int count = in.read(new byte[SCRATCH]);
        forgotten += Math.max(0, count);
        return count >= 0 && forgotten <= body.limit();
    }

    @Override
    public void onAllDataRead() {
        State before = over();
        if (before == State.WANTED) {
            taker.whole(body.take());
        } else if (before == State.REFUSED) {
            taker.end();
        }
    }

    @Override
    public void onError(Throwable failure) {
        log.debug("a request body broke off: {}", failure.toString());
        end(Rejection.brokenBody());
    }

    /** Looks whether the body is overdue; on the clock's thread. */
    void tick(long now) {
        if (now - since > patience) {
            clock.execute(() -> end(Rejection.of(Refusal.BODY_TIME)));
        }
    }

    /** Ends the request, with an answer if it has none. */
    private void end(Rejection rejection) {
        try {
            State before = over();
            if (before == State.WANTED) {
                body.drop();
                taker.refuse(rejection);
            }
            if (before != State.OVER) {
                taker.end();
            }
        } catch (RuntimeException e) {
            Faults.report(log, "an answer could not be written", e);
        }
    }

    /** Comes to the end, and returns what was before; nobody reads any more from here on. */
    private State over() {
        clock.remove(this);
        reading.lock();
        try {
            State before = state;
            state = State.OVER;
            return before;
        } finally {
            reading.unlock();
        }
    }
}
