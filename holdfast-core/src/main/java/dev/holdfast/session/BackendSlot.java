package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.RestoreOutcome;
import dev.holdfast.log.Step;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.InboundMessage;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * The place of a session's backend, through its incarnations. Whoever needs the backend while none is there starts exactly one
 * restore, and everybody who comes meanwhile waits in order. The state changes inside steps; backends are called outside.
 */
final class BackendSlot implements BackendSink.Hearer {
    private static final String UNINITIALIZED = "the session is not initialized yet";
    private static final int NONE = 0;

    private final SessionCore core;
    private final BackendOpenings openings;
    private final CallEnding calls;
    private final ServerIdentity identity;
    private final BackendQueue waiting;
    private final Incarnations incarnations = new Incarnations();

    BackendSlot(SessionCore core, Outbound outbound, Readers readers, CallEnding calls, ServerIdentity identity) {
        this.core = core;
        this.openings = new BackendOpenings(core, outbound, readers);
        this.calls = calls;
        this.identity = identity;
        this.waiting = new BackendQueue(core.host().limits().sessionBytes(), core::hold);
    }

    /**
     * There was a backend before the session came back from the store; inside a step, before anybody else knows the session.
     *
     * @param users those who need a fresh one, which is not opened yet
     * @return those for whom there is no room
     */
    List<BackendUser> returned(List<? extends BackendUser> users, Step step) {
        return existed() ? waiting.addAll(users, step) : List.copyOf(users);
    }

    /** There was a backend, though none was here; inside a step. False if one was or is here, or none will be: nothing changes then. */
    boolean existed() {
        boolean first = incarnations.state() == BackendState.NEW;
        if (first) {
            incarnations.become(BackendState.EMPTY);
        }
        return first;
    }

    /** Opens a fresh backend if there was one and nobody has asked for it yet. */
    void restore() {
        begin(core.step(step -> {
            if (incarnations.state() != BackendState.EMPTY) {
                return NONE;
            }
            int next = beginRestore();
            incarnations.restoresForNobody();
            return next;
        }));
    }

    /** Whether there is none, and the next one gets the journal when it is opened; inside a step. */
    boolean awaitsJournal() {
        return incarnations.state() == BackendState.EMPTY;
    }

    /** What there is of a backend. */
    BackendPresence presence() {
        return core.look(incarnations::presence);
    }

    private void begin(int next) {
        if (next != NONE) {
            new BackendRestore(core, this, identity).begin(next);
        }
    }

    /** Opens the first connection, for the client's own {@code initialize}; empty if there is or was one. */
    Optional<CompletionStage<Backend.Outcome>> open(InboundMessage initialize) {
        int first = core.step(step -> {
            if (incarnations.state() != BackendState.NEW) {
                return NONE;
            }
            incarnations.become(BackendState.OPENING);
            return incarnations.next();
        });
        return first == NONE ? Optional.empty() : Optional.of(openings.first(initialize, first, this));
    }

    /** Opens the connection of an incarnation that restores. */
    CompletionStage<Backend.Outcome> open(int next) {
        InboundMessage initialize = core.look(() -> core.journal().initialize().withContext(waiting.context()));
        return openings.another(initialize, next, this);
    }

    /** The first connection is there, even if it was lost again already; false if the slot was closed meanwhile. */
    boolean connected(BackendConnection first) {
        return core.step(step -> {
            if (incarnations.state() != BackendState.OPENING) {
                close(first, step);
                return false;
            }
            int present = incarnations.latest();
            if (present(present)) {
                incarnations.connected(first);
                incarnations.become(BackendState.SERVING);
                incarnations.serve();
                step.then(() -> serve(present, first));
                return true;
            }
            close(first, step);
            incarnations.become(BackendState.EMPTY);
            if (!waiting.isEmpty()) {
                int next = beginRestore();
                step.then(() -> begin(next));
            }
            return true;
        });
    }

    /** The backend has refused the client's {@code initialize}; the client may try again. */
    void notOpened() {
        core.run(step -> {
            if (incarnations.state() == BackendState.OPENING) {
                incarnations.become(BackendState.NEW);
                incarnations.gone(incarnations.latest(), step);
                calls.backendLost(UNINITIALIZED, step);
                waiting.refuseAll(UNINITIALIZED, step);
            }
        });
    }

    @Override
    public boolean present(int which) {
        return incarnations.present(which);
    }

    /** Who takes the client's answers for this incarnation, also while it is being opened; inside a step. */
    Optional<Consumer<InboundMessage>> answers(int which) {
        if (!present(which)) {
            return Optional.empty();
        }
        BackendConnection now = incarnations.connection();
        return now == null ? openings.answers() : Optional.of(now::answer);
    }

    /** Lets somebody use the backend: now, or when it is restored; false if that cannot be. */
    boolean use(BackendUser user) {
        BackendConnection now = core.step(step -> {
            if (incarnations.state() == BackendState.CONNECTED) {
                incarnations.serve();
                user.handedTo(incarnations.latest(), step);
                return incarnations.connection();
            }
            return null;
        });
        if (now != null) {
            user.use(now);
            return true;
        }
        return useLater(user);
    }

    private boolean useLater(BackendUser user) {
        return core.<Boolean>step(step -> {
            if (incarnations.state() == BackendState.CONNECTED) {
                // it is there since a moment ago
                incarnations.serve();
                user.handedTo(incarnations.latest(), step);
                BackendConnection now = incarnations.connection();
                step.then(() -> {
                    if (now != null) {
                        user.use(now);
                    }
                });
                return true;
            }
            if (incarnations.state() == BackendState.NEW) {
                user.turnAway(UNINITIALIZED, step);
                return false;
            }
            if (incarnations.state() == BackendState.CLOSED || !waiting.add(user, step)) {
                user.turnAway("no backend is there", step);
                return false;
            }
            int next = incarnations.state() == BackendState.EMPTY ? beginRestore() : NONE;
            step.then(() -> begin(next));
            return true;
        });
    }

    /** Somebody who has got the backend waits for something of it, and is dropped when it is gone; inside a step. */
    void await(BackendUser user) {
        incarnations.await(user);
    }

    /** It has what it waited for; inside a step. */
    void awaitNoMore(BackendUser user) {
        incarnations.awaitNoMore(user);
    }

    /** Lets somebody have the backend that comes after an incarnation, in the order of the steps; inside a step. */
    void useAfter(int which, BackendUser user, Step step) {
        serving().after(which, user, step);
    }

    private int beginRestore() {
        return incarnations.restore(core.now());
    }

    /** A restore has got its connection; false if nobody wants it any more. */
    boolean reached(int restored, BackendConnection fresh) {
        boolean wanted = core.step(step -> {
            boolean awaited = incarnations.restoring(restored);
            if (awaited) {
                incarnations.connected(fresh);
            }
            return awaited;
        });
        if (!wanted) {
            BackendRestore.close(fresh, core);
        }
        return wanted;
    }

    /** A fresh backend is there, in the state of the one before; false if nobody wants it any more. */
    boolean restored(int restored) {
        return core.step(step -> {
            boolean awaited = incarnations.restoring(restored);
            if (awaited) {
                incarnations.become(BackendState.SERVING);
                tell(RestoreOutcome.RESTORED, step);
            }
            return awaited;
        });
    }

    private void tell(RestoreOutcome outcome, Step step) {
        Duration took = Duration.ofNanos(core.now() - incarnations.restoringSince());
        step.then(() -> core.host().telemetry().restoreEnded(core.id(), outcome, took));
    }

    /** Lets those who waited have the backend, one after the other; then all. */
    void serve(int present, BackendConnection fresh) {
        serving().serve(present, fresh);
    }

    private BackendServing serving() {
        return new BackendServing(core, incarnations, waiting);
    }

    /** The session cannot go on with any backend: nobody gets another one, though the end of the session may take its time. */
    void giveUp(int restored, String cause) {
        core.run(step -> {
            if (endRestore(restored, cause, RestoreOutcome.FAILED, step)) {
                step.then(() -> core.host().telemetry().backendNotRestored(core.id(), cause));
                close(step);
                step.end(EndReason.RESTORE_FAILED);
            }
        });
    }

    /** There is no backend for the moment: whoever comes next may try again. */
    void putOff(int restored, String cause) {
        core.run(step -> endRestore(restored, cause, RestoreOutcome.PUT_OFF, step));
    }

    /** Ends a restore, if it is under way: what it has asked is withdrawn, and those who waited for it are refused. */
    private boolean endRestore(int restored, String cause, RestoreOutcome outcome, Step step) {
        if (incarnations.state() != BackendState.RESTORING || restored != incarnations.latest()) {
            return false;
        }
        incarnations.become(BackendState.EMPTY);
        incarnations.gone(restored, step);
        tell(outcome, step);
        calls.backendLost(cause, step);
        if (incarnations.unasked() && outcome == RestoreOutcome.PUT_OFF && !waiting.isEmpty()) {
            int next = beginRestore();
            step.then(() -> begin(next));
        } else {
            waiting.refuseAll(cause, step);
        }
        return true;
    }

    @Override
    public void lost(int which, String cause, List<InboundMessage> untouched) {
        core.run(step -> {
            if (present(which) && incarnations.state() != BackendState.CLOSED) {
                lose(which, cause, untouched, step);
            } else {
                calls.untouched(untouched, sink -> sink.stranded(which)).forEach(user -> step.then(() -> use(user)));
            }
        });
    }

    /** This incarnation is of no use, if its restore is still under way. */
    void notRestored(int which, String cause) {
        core.run(step -> {
            if (incarnations.restoring(which)) {
                lose(which, cause, List.of(), step);
            }
        });
    }

    private void lose(int which, String cause, List<InboundMessage> untouched, Step step) {
        incarnations.gone(which, step);
        Optional<BackendConnection> dead = incarnations.disconnect();
        List<CallDispatch> again = calls.untouched(untouched, sink -> sink.incarnation() == which);
        calls.backendLost(cause, step);
        waiting.addAll(again, step).forEach(user -> user.turnAway(cause, step));
        step.then(() -> core.host().telemetry().backendLost(core.id(), cause));
        dead.ifPresent(connection -> close(connection, step));
        replace(which, cause, step);
    }

    /** Goes on after a loss: those who wait get another backend, unless the one that is gone served nobody. */
    private void replace(int gone, String cause, Step step) {
        if (incarnations.state() == BackendState.RESTORING) {
            endRestore(gone, cause, RestoreOutcome.PUT_OFF, step);
        } else if (incarnations.presence() == BackendPresence.THERE && !waiting.isEmpty()) {
            boolean useless = !incarnations.served();
            int next = beginRestore();
            if (useless) {
                endRestore(next, cause, RestoreOutcome.PUT_OFF, step);
            } else {
                step.then(() -> begin(next));
            }
        } else if (incarnations.state() != BackendState.OPENING) {
            incarnations.become(BackendState.EMPTY);
            openings.forget();
        }
    }

    /**
     * Ends the backend for another session's, unless it is in use; who needs it next gets a fresh one.
     *
     * @param listening whether the client reads what belongs to no call; asked under the session's lock
     */
    boolean release(BooleanSupplier listening) {
        return core.<Boolean>step(step -> {
            BackendConnection unused = incarnations.connection();
            Lifecycle.State now = core.lifecycle().state();
            if (incarnations.state() != BackendState.CONNECTED
                    || unused == null
                    || now.works()
                    || now.closed()
                    || listening.getAsBoolean()) {
                return false;
            }
            incarnations.become(BackendState.EMPTY);
            incarnations.gone(incarnations.latest(), step);
            incarnations.disconnect();
            openings.forget();
            calls.backendLost("another session needed the backend", step);
            step.then(() -> core.host().telemetry().backendReleased(core.id()));
            close(unused, step);
            return true;
        });
    }

    /** Ends the backend. */
    void close() {
        core.run(this::close);
    }

    private void close(Step step) {
        incarnations.close(step);
        waiting.takeAll(step).forEach(user -> step.then(user::dropped));
        openings.abandon(step);
        incarnations.disconnect().ifPresent(last -> close(last, step));
    }

    private void close(BackendConnection connection, Step step) {
        step.then(() -> BackendRestore.close(connection, core));
    }
}
