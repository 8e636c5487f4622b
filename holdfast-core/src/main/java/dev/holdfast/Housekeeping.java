package dev.holdfast;

import dev.holdfast.Lifecycle.State;
import dev.holdfast.spi.RecordChange;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** What time does to a session: it ends, its calls do, what it keeps grows old, its record has to be renewed, or it is parked. */
final class Housekeeping {
    private final LiveSession session;
    private final SessionEngine engine;
    private final Lifetime lifetime;
    private final Upkeep upkeep;
    private final Outflow outflow;
    private final SessionLog log;
    private final StreamTable streams;
    private final long begunAt;

    Housekeeping(LiveSession session, SessionEngine engine, Lifetime lifetime, Upkeep upkeep, Outflow outflow) {
        this.session = session;
        this.engine = engine;
        this.lifetime = lifetime;
        this.upkeep = upkeep;
        this.outflow = outflow;
        this.log = outflow.log();
        this.streams = outflow.streams();
        this.begunAt = engine.now();
    }

    /** Looks whether time has ended something. */
    void sweep(long now) {
        if (!session.alive(session.lifecycle().expire(now))) {
            return;
        }
        State seen = session.lifecycle().state();
        if (engine.waitsInStore(seen, now) && parks(seen)) {
            return;
        }
        if (neverInitialized(now)) {
            session.close(EndReason.EXPIRED);
            return;
        }
        Effects effects = new Effects();
        if (session.locked(() -> grewOld(now, effects))) {
            effects.run();
            log.drain();
        }
    }

    /** Parks the session if it is still in this state, and if it can come back; false if not. */
    boolean parks(State seen) {
        return mayPark(seen) && resting() && session.ending().park(seen);
    }

    /** Whether the store would bring back a session that leaves memory in this state. */
    boolean mayPark(State seen) {
        return engine.outlives(lifetime)
                && seen.used()
                && !session.revision().isEmpty()
                && engine.sessions().canPark(session);
    }

    /** Whether the store has all that it was given, so that nothing is in doubt when the session leaves. */
    boolean resting() {
        return session.locked(log::resting);
    }

    /** Whether its client has attached and then said nothing for too long. */
    private boolean neverInitialized(long now) {
        return session.listensOnly()
                && session.revision().isEmpty()
                && session.lifecycle().state().running() == 0
                && engine.time().passed(lifetime.initializationNanos(), begunAt, now);
    }

    private boolean grewOld(long now, Effects effects) {
        boolean late = outflow.timeOut(now, effects);
        boolean old = streams.sweep(now);
        if (old) {
            log.flush();
        }
        List<RecordChange> due = log.open() ? upkeep.due(streams.listening().confirmed()) : List.of();
        if (!due.isEmpty()) {
            log.insist(due);
        }
        return late || old || !due.isEmpty();
    }

    /**
     * Tells the store the last of this life; nothing is sent from then on. Completes when it has it.
     *
     * @param left how long the session may still wait for its client
     */
    CompletionStage<Void> part(Duration left) {
        session.locked(() -> {
            if (log.open()) {
                log.leave(upkeep.parted(streams.listening().confirmed(), left));
            }
        });
        log.drain();
        return log.settled();
    }
}
