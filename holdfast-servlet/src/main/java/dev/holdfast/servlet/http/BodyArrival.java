package dev.holdfast.servlet.http;

import dev.holdfast.Refusal;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.io.EdgeClock;
import dev.holdfast.servlet.io.Faults;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A body that arrives in parts. The threads of the container read it, the clock ends it when it is overdue: the first of them
 * that reaches an end ends the request.
 *
 * <p>What a client still sends of a rejected body is read and dropped for 2 s: a connection that is closed while bytes arrive is
 * reset, and the client would never read its answer.
 */
final class BodyArrival implements ReadListener, EdgeClock.Ticking {
    private static final Logger log = LoggerFactory.getLogger(BodyArrival.class);
    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final int SCRATCH = 4 << 10;

    /** WANTED to REFUSED to OVER, or WANTED to OVER; guarded by {@code reading}. */
    private enum State {
        WANTED,
        REFUSED,
        OVER
    }

    private final ReentrantLock reading = new ReentrantLock();
    private final Exchange exchange;
    private final ServletInputStream in;
    private final RequestBody body;
    private final RequestBodies bodies;
    private State state;
    private volatile long since;
    private volatile long timeoutNanos;
    /** What is dropped is read into this; guarded by {@code reading}. */
    private byte[] scratch;

    private BodyArrival(State state, Exchange exchange, ServletInputStream in) {
        this.state = state;
        this.exchange = exchange;
        this.in = in;
        this.body = exchange.body();
        this.bodies = exchange.bodies;
        this.since = bodies.clock.now();
        this.timeoutNanos = state == State.REFUSED ? LINGER_NANOS : bodies.deadlineNanos;
        this.scratch = new byte[state == State.REFUSED ? SCRATCH : 0];
    }

    /** The body of an exchange, to be read. */
    static BodyArrival wanted(Exchange exchange, ServletInputStream in) {
        return new BodyArrival(State.WANTED, exchange, in);
    }

    /** A body whose refusal is answered already. */
    static BodyArrival refused(Exchange exchange, ServletInputStream in) {
        return new BodyArrival(State.REFUSED, exchange, in);
    }

    /**
     * Begins to read, on an asynchronous request; false if the stream takes no listener. That is none of a container, but of a filter
     * that has read the body already, for example.
     */
    boolean begin() {
        bodies.arrivals.add(this);
        try {
            in.setReadListener(this);
            return true;
        } catch (UnsupportedOperationException | IllegalStateException e) {
            log.debug("a request body takes no listener: {}", e.toString());
            over();
            return false;
        } catch (RuntimeException | Error e) {
            over();
            throw e;
        }
    }

    @Override
    public void onDataAvailable() throws IOException {
        try {
            take();
        } catch (IllegalStateException e) {
            onError(e);
        } catch (RuntimeException | Error e) {
            fail(e);
        }
    }

    private void take() throws IOException {
        Optional<Rejection> fault = takeReady();
        if (fault.isPresent()) {
            exchange.send(fault.get());
            // a container calls again only if it was asked for more when there was none
            takeReady();
        }
        // a client that always has more to send keeps the clock out of the lock
        tick(bodies.clock.now());
    }

    /** Reads what is ready, and says so if that has to be refused. */
    private Optional<Rejection> takeReady() throws IOException {
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
                    more = in.read(scratch) >= 0 && !overdue(bodies.clock.now());
                }
            }
            if (fault.isPresent()) {
                state = State.REFUSED;
                since = bodies.clock.now();
                timeoutNanos = LINGER_NANOS;
                scratch = new byte[SCRATCH];
                body.drop();
            }
        } finally {
            reading.unlock();
        }
        return fault;
    }

    @Override
    public void onAllDataRead() {
        State before = over();
        try {
            if (before == State.WANTED) {
                exchange.arrived(body.take());
            } else if (before == State.REFUSED) {
                exchange.end();
            }
        } catch (Throwable e) {
            body.drop();
            exchange.fail(e);
        }
    }

    /** Answers a failure: a request that is left open would hang. */
    private void fail(Throwable failure) {
        if (over() != State.OVER) {
            body.drop();
            exchange.fail(failure);
        }
    }

    @Override
    public void onError(Throwable failure) {
        log.debug("a request body broke off: {}", failure.toString());
        end(Rejection.brokenBody());
    }

    /**
     * Ends an overdue body, on the thread of the clock, which must not block. Its memory is given back at once; the answer is
     * written by another thread, since a client that does not send may not read either.
     */
    @Override
    public void tick(long now) {
        State before = State.OVER;
        if (overdue(now) && reading.tryLock()) {
            try {
                if (overdue(now)) {
                    before = leave();
                }
            } finally {
                reading.unlock();
            }
        }
        if (before == State.WANTED) {
            body.drop();
            Rejection late = Rejection.of(Refusal.BODY_TIME);
            if (!bodies.overdue.offer(() -> answer(late))) {
                exchange.abandon(late);
            }
        } else if (before == State.REFUSED) {
            exchange.end();
        }
    }

    private boolean overdue(long now) {
        return now - since > timeoutNanos;
    }

    /** Ends the request, with an answer if it has none. */
    private void end(Rejection rejection) {
        State before = over();
        if (before == State.WANTED) {
            body.drop();
            answer(rejection);
        } else if (before == State.REFUSED) {
            exchange.end();
        }
    }

    private void answer(Rejection rejection) {
        try {
            exchange.send(rejection);
            exchange.end();
        } catch (IllegalStateException e) {
            Faults.report(log, "an answer could not be written", e);
            exchange.end();
        } catch (Throwable e) {
            exchange.fail(e);
        }
    }

    /** Comes to the end, and returns what was before; nobody reads any more from here on. */
    private State over() {
        reading.lock();
        try {
            return leave();
        } finally {
            reading.unlock();
        }
    }

    private State leave() {
        bodies.arrivals.remove(this);
        State before = state;
        state = State.OVER;
        return before;
    }
}
