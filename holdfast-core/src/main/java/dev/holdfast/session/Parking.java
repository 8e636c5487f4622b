package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.SessionState;
import dev.holdfast.session.Lifecycle.Move;
import dev.holdfast.session.Lifecycle.State;
import dev.holdfast.spi.Epoch;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/** How a session leaves memory to come back: it waits in the store for its client. Called outside of a step. */
public final class Parking {
    private final SessionCore core;
    private final SessionEnd end;

    Parking(SessionCore core, SessionEnd end) {
        this.core = core;
        this.end = end;
    }

    /** Whether the store would bring back a session that leaves memory in this state. */
    public boolean mayPark(State seen) {
        return core.outlives()
                && seen.used()
                && !core.revision().isEmpty()
                && core.host().canPark(core.principal(), core.weight());
    }

    /** Whether other nodes wait until the session has left this one, which may have its only backend. */
    public boolean awaited() {
        return core.host().cluster().backendMayBeElsewhere() && core.outlives();
    }

    /** Whether the store has all that it was given, so that nothing is in doubt when the session leaves. */
    public boolean resting() {
        return core.look(core.outbox()::resting);
    }

    /** Parks the session if it is still in this state, and if it can come back; false if not. */
    public boolean park(State seen) {
        if (!mayPark(seen) || !resting()) {
            return false;
        }
        Move move = core.lifecycle().closeIf(seen, EndReason.PARKED);
        if (move.closes()) {
            depart(seen.since(), core.lifecycle().patience(seen), RecordState.MARGIN);
        }
        return move.closes();
    }

    /** The server ends: the session waits in the store for the next one, if both last so long. */
    public void drain() {
        if (!core.outlives()) {
            end.end(EndReason.DRAINED);
            return;
        }
        leave(core.lifecycle().close(EndReason.PARKED));
    }

    /** The session leaves a server that ends before its others do, if it is still in this state. */
    public void leave(State seen) {
        leave(core.lifecycle().closeIf(seen, EndReason.PARKED));
    }

    private void leave(Move move) {
        if (move.closes()) {
            boolean detached = move.before().phase() == SessionState.DETACHED;
            long patience =
                    detached ? core.lifetime().graceNanos() : core.lifetime().longestNanos();
            depart(core.now(), patience, Duration.ZERO);
        }
    }

    /**
     * Leaves memory.
     *
     * @param since when it began to wait for its client, by the engine's clock
     * @param patience how long it waits, in nanoseconds
     * @param margin how much longer the store keeps it than that, where an engine lives that ends it in time
     */
    private void depart(long since, long patience, Duration margin) {
        long now = core.now();
        Duration waits = Duration.ofNanos(Math.max(0, patience - (now - since))).plus(margin);
        long bytes = core.leaves();
        end.leave();
        part(waits).whenComplete((done, failure) -> {
            if (core.isTakenOver()) {
                // it waits in the store all the same, or another node has it from there
                core.host().telemetry().parked(core.id());
                end.giveUp();
                return;
            }
            end.release(EndReason.PARKED);
            Epoch epoch = core.look(core.log().epochs()::present);
            core.host().parked(core.key(), core.id(), core.principal(), epoch, bytes, since, patience, margin);
            core.host().telemetry().parked(core.id());
            end.left();
        });
    }

    /** Tells the store the last of it; nothing is sent from then on. Completes when it has that. */
    private CompletionStage<Void> part(Duration waits) {
        core.run(step -> {
            if (core.outbox().open()) {
                long read = core.streams().listening().confirmed();
                core.host().cluster().parting(core.streams(), step);
                core.outbox().leave(core.record().parted(read, waits), step);
            }
        });
        return core.log().settled();
    }
}
