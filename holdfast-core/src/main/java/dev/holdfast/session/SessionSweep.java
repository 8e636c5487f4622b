package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.SessionState;
import dev.holdfast.log.Effects;
import dev.holdfast.log.Outbox;
import dev.holdfast.log.Retention;
import dev.holdfast.session.Lifecycle.State;
import dev.holdfast.spi.RecordChange;
import java.util.List;

/** What time does to a session: it ends, its calls do, what it keeps grows old, its record has to be renewed, or it is parked. */
final class SessionSweep {
    private final SessionCore core;
    private final SessionHost host;
    private final Outbox outbox;
    private final Retention retention;
    private final CallEnding calls;
    private final Parking parking;
    private final long begunAt;

    SessionSweep(SessionCore core, CallEnding calls, Parking parking) {
        this.core = core;
        this.host = core.host();
        this.outbox = core.outbox();
        this.retention = core.streams().retention();
        this.calls = calls;
        this.parking = parking;
        this.begunAt = host.clock().now();
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
        boolean away = host.durable() && seen.phase() == SessionState.DETACHED && !seen.held();
        if (away && host.clock().passed(parkNanos, seen.since(), now) && parking.park(seen)) {
            return;
        }
        if (neverInitialized(now)) {
            core.end(EndReason.EXPIRED);
            return;
        }
        core.run(effects -> grownOld(now, effects));
    }

    /** Whether its client has attached and then said nothing for too long. */
    private boolean neverInitialized(long now) {
        return core.listensOnly()
                && core.revision().isEmpty()
                && core.lifecycle().state().running() == 0
                && host.clock().passed(core.lifetime().initializationNanos(), begunAt, now);
    }

    private void grownOld(long now, Effects effects) {
        calls.timeOut(now, effects);
        if (retention.sweep(now)) {
            outbox.flush();
        }
        if (outbox.open()) {
            List<RecordChange> due =
                    core.record().due(core.streams().listening().confirmed());
            if (!due.isEmpty()) {
                outbox.insist(due);
            }
        }
    }
}
