package dev.holdfast.engine;

import dev.holdfast.Refusal;
import java.util.Optional;

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
