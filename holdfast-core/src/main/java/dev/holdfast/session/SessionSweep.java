package dev.holdfast.session;

import dev.holdfast.log.Step;
import dev.holdfast.session.Lifecycle.State;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionRecord;
import java.util.List;
import java.util.function.Consumer;

/**
 * What time does to a session: it ends, its calls do, what it keeps grows old, its record has to be renewed, its
 * backend comes back, or it is parked.
 */
final class SessionSweep {
    private final SessionCore core;
    /** The client of a call whose start the store does not take is refused within 3 s: after this, and a sweep. */
    private static final long STUCK_NANOS = 2_000_000_000L;

    private final Calls calls;
    private final SessionEnd end;
    private final Consumer<SessionRecord> catchUp;
    private final Revival revival;
    private long taken;
    private long tookAt;

    /**
     * @param catchUp makes the session here what its record says
     */
    SessionSweep(SessionCore core, Calls calls, SessionEnd end, Consumer<SessionRecord> catchUp, Revival revival) {
        this.core = core;
        this.calls = calls;
        this.end = end;
        this.catchUp = catchUp;
        this.revival = revival;
        this.tookAt = core.now();
    }

    /**
     * Looks whether time has ended something.
     *
     * @param parkNanos how long a client may be away before its session leaves memory
     */
    void sweep(long now, long parkNanos) {
        if (!core.alive(core.lifecycle().expire(now))) {
            return;
        }
        State seen = core.lifecycle().state();
        boolean away = core.host().durable() && core.host().cluster().mayPark(seen.phase()) && !seen.held();
        if (away && core.clock().passed(parkNanos, seen.since(), now) && new Parking(core, end).park(seen)) {
            return;
        }
        if (neverInitialized(seen, now)) {
            forgotten(seen);
            return;
        }
        core.run(step -> grownOld(now, step));
        revival.sweep(now);
    }

    /** Its client has forgotten it, unless it has initialized it on another node, or does so here meanwhile. */
    private void forgotten(State seen) {
        StoreQuestion.ask(() -> core.host().cluster().initializedElsewhere(core.key()))
                .thenAccept(record -> record.ifPresentOrElse(catchUp, () -> end.expire(seen)));
    }

    /** Whether its client has attached and then said nothing for too long. */
    private boolean neverInitialized(State seen, long now) {
        return core.listensOnly()
                && core.revision().isEmpty()
                && seen.running() == 0
                && core.clock().passed(core.lifetime().initializationNanos(), core.since(), now);
    }

    /** Whether the store takes nothing of what it was given. */
    private boolean isStuck(long now) {
        if (core.outbox().answered() || core.outbox().taken() != taken) {
            taken = core.outbox().taken();
            tookAt = now;
        }
        return !core.host().cluster().repeatsCommits() && core.clock().passed(STUCK_NANOS, tookAt, now);
    }

    private void grownOld(long now, Step step) {
        calls.timeOut(now, step);
        if (isStuck(now)) {
            calls.refuseUnstarted(step);
        }
        if (core.streams().retention().sweep(now, step)) {
            core.outbox().flush(step);
        }
        if (core.outbox().open()) {
            List<RecordChange> due =
                    core.record().due(core.streams().listening().confirmed());
            if (!due.isEmpty()) {
                core.outbox().insist(due, step);
            }
        }
    }
}
