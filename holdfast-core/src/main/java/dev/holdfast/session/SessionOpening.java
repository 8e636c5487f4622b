package dev.holdfast.session;

import dev.holdfast.spi.Backend;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** How a session begins: with a client's {@code initialize}, before it, or with what the store has kept. */
public final class SessionOpening {
    private static final long FIRST_RESTORE_MILLIS = 1_000;
    private static final long MOST_RESTORE_MILLIS = 60_000;

    private final SessionCore core;
    private final ServerIdentity identity;
    private final BackendSlot backend;
    private final RestoredState state;

    SessionOpening(SessionCore core, ServerIdentity identity, BackendSlot backend, RestoredState state) {
        this.core = core;
        this.identity = identity;
        this.backend = backend;
        this.state = state;
    }

    /** Opens the backend of a session that has no name yet. */
    public CompletionStage<Backend.Outcome> openBackend(InboundMessage initialize) {
        return backend.open(initialize).orElseThrow();
    }

    /** The backend has accepted: the session has a name from here on. Completes when the store has its record. */
    public CompletionStage<Void> create(String name, InboundMessage initialize, Backend.Opened opened) {
        core.name(name);
        core.negotiated(opened.revision());
        core.run(step -> core.journal().accepted(initialize, step));
        identity.first(opened.response());
        return backend.connected(opened.connection())
                ? create(SessionRecord.SESSION, Map.of(SessionRecord.INITIALIZE, initialize.bytes()))
                : CompletableFuture.failedFuture(new IllegalStateException("closed while it was opened"));
    }

    /** The backend has accepted a session that is not to be, and ends with it. */
    public void decline(Backend.Opened opened) {
        boolean unused = backend.connected(opened.connection());
    }

    /** Gives a name to a session whose client will initialize it later. Completes when the store has its record. */
    public CompletionStage<Void> create(String name) {
        core.name(name);
        return create(SessionRecord.LISTENING_SESSION, Map.of());
    }

    private CompletionStage<Void> create(String kind, Map<String, byte[]> entries) {
        Epoch first = core.look(core.log().epochs()::present);
        SessionRecord record = core.look(() -> new SessionRecord(
                1,
                kind,
                core.principal(),
                core.record().expiresAt(),
                core.record().extension(),
                core.revision(),
                entries,
                Map.of()));
        return StoreQuestion.ask(() -> core.host().store().create(core.key(), first, record));
    }

    /** How long its store keeps it, in milliseconds since 1970. */
    public long expiresAt() {
        return core.look(core.record()::expiresAt);
    }

    /** The session is known to those who will hear of its end: it may live. */
    public void start() {
        core.host().telemetry().created(core.id(), core.listensOnly(), core::told);
        core.lifecycle().opened(core.now());
        core.log().start(core.key());
    }

    /**
     * Comes back into memory, as the store has kept it.
     *
     * @param known makes it known to those who look for it; called inside the step, so that whoever finds it waits until it is whole
     */
    public void restore(String name, SessionStore.Claim claim, Map<StreamId, List<Event>> events, Runnable known) {
        core.name(name);
        core.negotiated(claim.record().revision());
        core.log().start(core.key());
        Cluster cluster = core.host().cluster();
        core.run(step -> {
            Lifecycle.Move begun = core.lifecycle().returned(cluster.restoredState(), core.now());
            assert !begun.leavesClosed() : "nobody knows it yet";
            core.outbox().insist(core.record().begun(), step);
            List<BackendUser> again = state.run(claim, events, step);
            known.run();
            List<? extends BackendUser> turnedAway = core.revision().isEmpty() ? again : backend.returned(again, step);
            turnedAway.forEach(user -> user.turnAway("no backend is there", step));
        });
        core.host().telemetry().returned(core::told, cluster.restoredState());
        if (!core.host().backend().needsContext() && !cluster.backendMayBeElsewhere()) {
            restoreBackend(FIRST_RESTORE_MILLIS);
        }
    }

    /** Opens a fresh backend for the calls that are run again, and for a client that only listens; later if nobody can now. */
    private void restoreBackend(long patience) {
        if (!core.lifecycle().state().closed() && !core.host().elsewhere(backend::restore)) {
            core.host().later(() -> restoreBackend(Math.min(2 * patience, MOST_RESTORE_MILLIS)), patience);
        }
    }
}
