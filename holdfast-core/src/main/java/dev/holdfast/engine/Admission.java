package dev.holdfast.engine;

import dev.holdfast.Refusal;
import dev.holdfast.spi.SessionKey;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** Whether there is a place for a session, and who has one. Safe for use by any thread. */
final class Admission {
    private final Capacity capacity;
    private final Drain drain;
    private final NodeCounts counts;
    private final LiveSessions live;

    Admission(Capacity capacity, Drain drain, NodeCounts counts, LiveSessions live) {
        this.capacity = capacity;
        this.drain = drain;
        this.counts = counts;
        this.live = live;
    }

    /** Why no place could be taken now, if none could. */
    Optional<Refusal> wouldRefuse(String principal) {
        return drain.begun() ? Optional.of(Refusal.DRAINING) : capacity.wouldRefuse(principal);
    }

    /** Takes a place for one more session, unless there is none. */
    Optional<Refusal> enter(String principal) {
        counts.sessionBegun();
        Optional<Refusal> refusal = drain.begun() ? Optional.of(Refusal.DRAINING) : capacity.take(principal);
        if (refusal.isPresent()) {
            counts.sessionEnded();
        }
        return refusal;
    }

    /** Ends a session of a principal that nobody uses; completes with its name when it has left memory, empty if there is none. */
    CompletionStage<Optional<SessionKey>> endOne(String principal) {
        return capacity.endOne(principal);
    }

    /** A session has closed, and leaves its place. */
    void leaves(String principal) {
        live.closed();
        capacity.release(principal);
    }

    /** Nothing is left of a session that was not opened. */
    void abandoned(String principal) {
        capacity.release(principal);
        counts.sessionEnded();
    }
}
