package dev.holdfast.session;

import dev.holdfast.log.Step;
import dev.holdfast.session.Lifecycle.State;
import dev.holdfast.spi.RecordChange;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What time does to a session: it ends, its calls do, what it keeps grows old, its record has to be renewed, its
 * backend comes back, or it is parked.
 */
final class SessionSweep {
    private static final Logger logger = LoggerFactory.getLogger(SessionSweep.class);
    /** The client of a call whose start the store does not take is refused within 3 s: after this, and a sweep. */
    private static final long STUCK_NANOS = 2_000_000_000L;

    private static final long FIRST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long MOST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final SessionCore core;
    private final Calls calls;
    private final SessionEnd end;
    private final BackendSlot backend;
    private final Readers readers;
    private long taken;
    private long tookAt;
    /** Whether the backend was there when this last looked. */
    private boolean there;
    /** When it was last tried to open one, or one was seen first. */
    private long since;
    /** How long it is left alone from then on, which no other session waits too. */
    private long pause;

    SessionSweep(SessionCore core, Calls calls, SessionEnd end, BackendSlot backend, Readers readers) {
        this.core = core;
        this.calls = calls;
        this.end = end;
        this.backend = backend;
        this.readers = readers;
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
        if (away && core.clock().passed(parkNanos, seen.since(), now) && end.park(seen)) {
            return;
        }
        if (neverInitialized(seen, now)) {
            forgotten(seen);
            return;
        }
        core.run(step -> grownOld(now, step));
        revive(now);
    }

    /** Its client has forgotten it, unless it has initialized it on another node, or does so here meanwhile. */
    private void forgotten(State seen) {
        StoreQuestion.ask(() -> core.host().cluster().initializedElsewhere(core.key()))
                .thenAccept(
                        record -> record.ifPresentOrElse(new CatchUp(core, backend)::follow, () -> end.expire(seen)));
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
                    core.record().due(core.streams().listening().confirmed(), step);
            if (!due.isEmpty()) {
                core.outbox().insist(due, step);
            }
        }
    }

    /**
     * Opens a fresh backend for a client that only listens: the one that was lost, or could not be reached, would be missed for ever by
     * who sends nothing. At once the first time, then after pauses that double, each longer by up to a quarter so that sessions which
     * lost theirs together do not come together, until one has stayed for a minute.
     */
    private void revive(long now) {
        BackendSlot.Presence seen = backend.presence();
        if (seen == BackendSlot.Presence.THERE) {
            since = there ? since : now;
            there = true;
            pause = passed(MOST_PAUSE_NANOS, since, now) ? 0 : pause;
            return;
        }
        there = false;
        boolean due = pause == 0 || passed(pause, since, now);
        if (seen == BackendSlot.Presence.MISSING && due && wanted()) {
            since = now;
            long doubled = Math.min(Math.max(2 * pause, FIRST_PAUSE_NANOS), MOST_PAUSE_NANOS);
            pause = doubled + core.host().random().nextLong(doubled / 4);
            StoreQuestion.ask(() -> core.host().cluster().mayOpenBackend(core.key()))
                    .whenComplete(this::open);
        }
    }

    /** Where nobody knows whether it may be opened, it is tried again like one that cannot be reached. */
    private void open(@Nullable Boolean may, @Nullable Throwable failure) {
        if (failure != null) {
            logger.debug("session {}: nobody knows which node has its backend", core.shortId(), failure);
        } else if (Boolean.TRUE.equals(may) && !core.host().elsewhere(backend::restore)) {
            logger.debug("session {}: nobody can open its backend now", core.shortId());
        }
    }

    private boolean passed(long nanos, long since, long now) {
        return core.clock().passed(nanos, since, now);
    }

    /** A backend that takes headers of a request along waits for a request. */
    private boolean wanted() {
        return readers.listening()
                && core.host().storeWorks()
                && !core.host().draining()
                && !core.lifecycle().state().closed()
                && !core.host().backend().needsContext();
    }
}
