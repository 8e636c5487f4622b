package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.Lifetime;
import dev.holdfast.SessionState;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.log.EngineClock;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The one atomic state of a session. Every change is a compare-and-set from one immutable {@link State} to the next, so that
 * of two that race (a client coming back, the reaper) exactly one wins and the other sees what it lost to.
 *
 * <pre>
 *   OPENING --opened--> IDLE --attach--> ATTACHED --last connection ended in order--> IDLE
 *                        ^                  |  ^
 *                        |   last one broke |  | attach
 *                        +-----visit----- DETACHED
 *   any --close--> CLOSED           IDLE, DETACHED --deadline passed--> CLOSED
 *   DETACHED --long enough--> CLOSED, parked
 * </pre>
 *
 * <p>A visit is a request that opens no stream. There is no deadline while a connection reads or a call runs.
 */
public final class Lifecycle {
    /**
     * One moment of a session.
     *
     * @param readers connections that read
     * @param running calls that run
     * @param handover whether the last connection ended so that the client comes back
     * @param used whether the client has shown that it holds the session, by any request with its id
     * @param since the latest of: last connection's end, last call's end, last request; nanoseconds of the engine's clock
     * @param end why it is closed, once it is
     */
    public record State(
            SessionState phase,
            int readers,
            int running,
            boolean handover,
            boolean used,
            long since,
            @Nullable EndReason end) {
        /** Whether nothing but a request or a failure ends it. */
        public boolean held() {
            return readers > 0 || works();
        }

        /** Whether its backend has something to do. Who reads what has ended reads the log. */
        public boolean works() {
            return running > 0 || phase == SessionState.OPENING;
        }

        public boolean closed() {
            return phase == SessionState.CLOSED;
        }
    }

    /** One step: what was and what is. A step out of CLOSED does not exist, so {@code before} and {@code after} are then one. */
    record Move(State before, State after) {
        /** Whether it neither found the session closed, nor closed it, nor brought a detached one its client back. */
        boolean quiet() {
            return after.phase != SessionState.CLOSED
                    && (before.phase != SessionState.DETACHED || after.phase == SessionState.DETACHED);
        }

        /** Whether it is this step that closed the session: true for exactly one. */
        boolean closes() {
            return after.closed() && !before.closed();
        }

        /** Whether the session was closed before this step, or by it. */
        boolean leavesClosed() {
            return after.closed();
        }

        /** Whether a detached session got its client back. */
        boolean reconnects() {
            return before.phase == SessionState.DETACHED && !after.closed() && after.phase != SessionState.DETACHED;
        }

        /** Whether the last connection broke. */
        boolean detaches() {
            return before.phase == SessionState.ATTACHED && after.phase == SessionState.DETACHED;
        }
    }

    private final Lifetime lifetime;
    private final EngineClock clock;
    /** The shortest of all timeouts, in nanoseconds: a session that was used more recently has not expired. */
    private final long shortestNanos;

    private final AtomicReference<State> state;

    Lifecycle(Lifetime lifetime, EngineClock clock) {
        this.lifetime = lifetime;
        this.clock = clock;
        this.shortestNanos =
                Math.min(lifetime.graceNanos(), Math.min(lifetime.idleNanos(), lifetime.initializationNanos()));
        this.state = new AtomicReference<>(new State(SessionState.OPENING, 0, 0, false, false, clock.now(), null));
    }

    public State state() {
        return Objects.requireNonNull(state.get());
    }

    boolean closed() {
        return Objects.requireNonNull(state.get()).phase == SessionState.CLOSED;
    }

    /**
     * The session is back from the store.
     *
     * @param as DETACHED where its connections broke when it left; IDLE where its client may read it elsewhere
     */
    Move returned(SessionState as, long now) {
        return move(s -> new State(as, 0, 0, false, true, now, null));
    }

    /** The backend is open and the client may know the session. */
    Move opened(long now) {
        return move(s -> new State(SessionState.IDLE, s.readers, s.running, false, false, now, null));
    }

    /** A connection begins to read, unless the deadline has passed. */
    Move attach(long now) {
        return use(now, 1, 0);
    }

    Move detach(long now, Close how) {
        return move(s -> {
            boolean last = s.readers <= 1;
            SessionState next =
                    !last ? SessionState.ATTACHED : how == Close.BROKEN ? SessionState.DETACHED : SessionState.IDLE;
            boolean handover = last ? how == Close.HANDOVER : s.handover;
            return new State(next, last ? 0 : s.readers - 1, s.running, handover, true, now, null);
        });
    }

    /** A request came that will open a stream, unless the deadline has passed. */
    Move touch(long now) {
        return use(now, 0, 0);
    }

    /** A request came that opens no stream, unless the deadline has passed. */
    Move visit(long now) {
        return move(s -> {
            SessionState next = s.phase == SessionState.DETACHED ? SessionState.IDLE : s.phase;
            return expired(s, now) ? expired(s) : new State(next, s.readers, s.running, s.handover, true, now, null);
        });
    }

    /** A call starts, unless the deadline has passed. */
    Move callStarted(long now) {
        return use(now, 0, 1);
    }

    /** The same for a call whose connection begins to read at once. */
    Move callAttached(long now) {
        return use(now, 1, 1);
    }

    Move callEnded(long now) {
        State before = state();
        assert before.closed() || before.running > 0 : "ended twice";
        return use(now, 0, -1);
    }

    /** So many more connections read, and so many more calls run, unless the deadline has passed. */
    private Move use(long now, int moreReaders, int moreCalls) {
        while (true) {
            State before = Objects.requireNonNull(state.get());
            if (before.phase == SessionState.CLOSED) {
                return new Move(before, before);
            }
            SessionState next = moreReaders > 0 ? SessionState.ATTACHED : before.phase;
            State after = expired(before, now)
                    ? expired(before)
                    : new State(
                            next,
                            before.readers + moreReaders,
                            before.running + moreCalls,
                            before.handover,
                            true,
                            now,
                            null);
            if (state.compareAndSet(before, after)) {
                return new Move(before, after);
            }
        }
    }

    Move expire(long now) {
        return move(s -> expired(s, now) ? expired(s) : s);
    }

    /** Closes, if nothing has changed since the session was seen in this state; changes nothing else. */
    Move closeIf(State seen, EndReason reason) {
        State after = closed(seen, reason);
        return !seen.closed() && state.compareAndSet(seen, after) ? new Move(seen, after) : new Move(seen, seen);
    }

    Move close(EndReason reason) {
        return move(s -> closed(s, reason));
    }

    /** Whether the deadline of this state has passed, exactly at the boundary included. */
    public boolean expired(State s, long now) {
        return s.readers == 0
                && s.running == 0
                && s.phase != SessionState.OPENING
                && now - s.since >= shortestNanos
                && clock.passed(timeoutNanos(s), s.since, now);
    }

    /** How long this state waits for the client, in nanoseconds. */
    long timeoutNanos(State s) {
        if (s.phase == SessionState.DETACHED) {
            return lifetime.graceNanos();
        }
        if (!s.used) {
            return Math.min(lifetime.initializationNanos(), lifetime.idleNanos());
        }
        return s.handover ? lifetime.longestNanos() : lifetime.idleNanos();
    }

    /** Why time has ended a session that was in this state, and by which knob, for a log line. */
    String limit(State s) {
        boolean waits = s.used && s.phase != SessionState.ATTACHED;
        if (!waits && lifetime.initialization().compareTo(lifetime.idle()) <= 0) {
            return "its client did not go on within the initialization timeout of "
                    + EngineClock.text(lifetime.initialization())
                    + " (initializationTimeout, holdfast.session.initialization-timeout)";
        }
        if (waits && timeoutNanos(s) == lifetime.graceNanos() && (s.phase == SessionState.DETACHED || s.handover)) {
            return "its client did not come back within the grace period of " + EngineClock.text(lifetime.grace())
                    + " (sessionReconnectGracePeriod, --reconnect-grace, holdfast.session.reconnect-grace-period)";
        }
        return "no request came within the idle timeout of " + EngineClock.text(lifetime.idle())
                + " (sessionIdleTimeout, --idle-timeout, holdfast.session.idle-timeout)";
    }

    private static State expired(State s) {
        return closed(s, EndReason.EXPIRED);
    }

    private static State closed(State s, EndReason reason) {
        return new State(SessionState.CLOSED, 0, 0, false, s.used, s.since, reason);
    }

    private Move move(UnaryOperator<State> next) {
        while (true) {
            State before = state();
            if (before.closed()) {
                return new Move(before, before);
            }
            State after = next.apply(before);
            if (state.compareAndSet(before, after)) {
                return new Move(before, after);
            }
        }
    }
}
