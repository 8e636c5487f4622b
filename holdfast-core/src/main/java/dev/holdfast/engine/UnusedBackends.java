package dev.holdfast.engine;

import dev.holdfast.SessionState;
import dev.holdfast.session.Lifecycle.State;
import dev.holdfast.session.LiveSession;
import java.util.Comparator;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The backends of sessions in memory that nobody uses: no client listens and no call runs. That of the session goes first that is
 * detached for longest, then of the one that is idle for longest. A session that its client has not used yet is in its handshake
 * for a moment, and counts as used.
 */
record UnusedBackends(LiveSessions live, LongSupplier clock) {
    private static final long HANDSHAKE_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final Comparator<Candidate> FIRST = Comparator.comparing(
                    (Candidate candidate) -> candidate.state.phase() != SessionState.DETACHED)
            .thenComparing((one, other) -> {
                // instants of a monotonic clock: only differences mean something
                return Long.signum(one.state.since() - other.state.since());
            });

    /** A session whose backend may go, as it was seen. */
    private record Candidate(LiveSession session, State state) {}

    /** Ends the one that is needed least, of a principal, or of any for the empty one; false if all are in use. */
    boolean releaseOne(String principal) {
        return live.all().stream()
                .filter(session -> principal.isEmpty() || session.principal().equals(principal))
                .map(session -> new Candidate(session, session.lifecycle().state()))
                .filter(this::unused)
                .sorted(FIRST)
                .anyMatch(candidate -> candidate.session.releaseBackend());
    }

    private boolean unused(Candidate candidate) {
        State state = candidate.state;
        boolean handshake = !state.used() && clock.getAsLong() - state.since() < HANDSHAKE_NANOS;
        return !state.works() && !state.closed() && !handshake && !candidate.session.listening();
    }
}
