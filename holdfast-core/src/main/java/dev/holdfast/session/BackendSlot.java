package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.RestoreOutcome;
import dev.holdfast.log.LazyQueue;
import dev.holdfast.log.Step;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.InboundMessage;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The place of a session's backend, through its incarnations, which are counted from 1. Whoever needs the backend while none is there
 * starts exactly one restore: a fresh one is opened and gets the journal. Everybody who comes meanwhile waits, and gets it in order,
 * each before the next, and before all who come then.
 *
 * <pre>
 *   NEW --open--> OPENING --accepted--> SERVING --nobody waits--> CONNECTED --lost--> EMPTY
 *                 OPENING --refused--> NEW
 *   NEW --the session is back from the store, another node has initialized it--> EMPTY
 *   EMPTY --use--> RESTORING --replayed--> SERVING
 *                  RESTORING --not reached, lost--> EMPTY, those who waited are refused, unless they wait on; if it was begun for
 *                                                   nobody, RESTORING for them
 *                  RESTORING --refused--> the session ends
 *   CONNECTED --the one before has accepted something that it lacks--> SERVING
 *   SERVING, OPENING, CONNECTED --lost--> RESTORING if somebody waits, else EMPTY
 *   CONNECTED --released, nobody uses it--> EMPTY
 *   any --close--> CLOSED
 * </pre>
 */
final class BackendSlot {
    private static final Logger logger = LoggerFactory.getLogger(BackendSlot.class);
    /** How long a fresh backend may take for the journal. */
    static final long REPLAY_MILLIS = 30_000;

    private static final int MOST_WAITING = 10_000;
    private static final int NONE = 0;
    private static final String MUTE = "the backend does not answer what it had answered before";
    private static final String UNINITIALIZED = "the session is not initialized yet";

    private enum State {
        /** There was none yet. */
        NEW,
        /** The client's own {@code initialize} is on its way. */
        OPENING,
        EMPTY,
        RESTORING,
        /** A fresh backend is there, and those who waited for it come first. */
        SERVING,
        CONNECTED,
        CLOSED
    }

    enum Presence {
        THERE,
        /** It was here and is gone, and no other one is being opened. */
        MISSING,
        /** One is on its way, or there never was one here. */
        PENDING
    }

    /** Somebody who waits, and how much it brought when it came, which may change while it waits. */
    private record Waiting(BackendUser user, long bytes) {}

    private final SessionCore core;
    private final Outbound outbound;
    private final Readers readers;
    private final Calls calls;

    private State state = State.NEW;
    private int latest;
    private int lastGone;
    private @Nullable BackendConnection connection;
    /** Receives what the latest incarnation sends outside of calls. */
    private @Nullable BackendSink sink;

    private boolean served;
    /** Whether the restore under way was begun for nobody: if it fails, those who came later get another one. */
    private boolean unasked;

    private long restoringSince;
    private final LazyQueue<Waiting> waiting = new LazyQueue<>();
    private long waitingBytes;
    /** Users that have got the latest incarnation and wait for an answer of it. */
    private Set<BackendUser> awaiting = Set.of();

    BackendSlot(SessionCore core, Outbound outbound, Readers readers, Calls calls) {
        this.core = core;
        this.outbound = outbound;
        this.readers = readers;
        this.calls = calls;
    }

    /** There was a backend before the session came back; returns those of the users of the next one for whom there is no room. */
    List<? extends BackendUser> returned(List<? extends BackendUser> users, Step step) {
        return existed(step) ? addAll(users, step) : users;
    }

    /** There was a backend on another node or in another process. False, and no change, if there was one here or the slot is closed. */
    boolean existed(Step step) {
        boolean first = state == State.NEW;
        state = first ? State.EMPTY : state;
        return first;
    }

    /** Whether there is none, and the next one gets the journal when it is opened. */
    boolean awaitsJournal() {
        return state == State.EMPTY;
    }

    Presence presence() {
        return core.log.look(this::whatIsThere);
    }

    private Presence whatIsThere() {
        return switch (state) {
            case SERVING, CONNECTED -> Presence.THERE;
            case EMPTY -> latest > 0 ? Presence.MISSING : Presence.PENDING;
            default -> Presence.PENDING;
        };
    }

    /** Whether this is the latest, and not gone. */
    boolean present(int which) {
        return which == latest && which != lastGone;
    }

    /** Opens the first connection, for the client's own {@code initialize}; empty if there is or was one. */
    Optional<CompletionStage<Backend.Outcome>> open(InboundMessage initialize) {
        int first = core.log.step(step -> {
            if (state != State.NEW) {
                return NONE;
            }
            state = State.OPENING;
            return ++latest;
        });
        return first == NONE ? Optional.empty() : Optional.of(open(initialize, first, false));
    }

    private CompletionStage<Backend.Outcome> open(InboundMessage initialize, int incarnation, boolean restores) {
        BackendSink fresh = new BackendSink(core, outbound, readers, this, incarnation);
        core.log.run(step -> {
            if (state == State.CLOSED) {
                step.then(fresh::abandon);
            } else {
                sink = fresh;
            }
        });
        return fresh.open(initialize, restores);
    }

    /** The first connection is there, even if it was lost again already; false if the slot was closed meanwhile. */
    boolean connected(BackendConnection first) {
        return core.log.step(step -> {
            if (state != State.OPENING) {
                step.then(() -> BackendSink.close(first, core));
                return false;
            }
            if (present(latest)) {
                connection = first;
                served = true;
                serve(step);
                return true;
            }
            step.then(() -> BackendSink.close(first, core));
            state = State.EMPTY;
            if (!waiting.isEmpty()) {
                restore(step);
            }
            return true;
        });
    }

    /** The backend has refused the client's {@code initialize}; the client may try again. */
    void notOpened() {
        core.log.run(step -> {
            if (state == State.OPENING) {
                state = State.NEW;
                gone(latest, step);
                outbound.backendLost(UNINITIALIZED, step);
                takeAll(step).forEach(entry -> entry.user.turnAway(UNINITIALIZED, step));
            }
        });
    }

    /** Lets somebody use the backend: now, or when it is restored; false if that cannot be. */
    boolean use(BackendUser user) {
        BackendConnection now = core.log.step(step -> {
            user.comes(step);
            return state == State.CONNECTED ? hand(user, step) : null;
        });
        if (now != null) {
            user.use(now);
            return true;
        }
        return useLater(user);
    }

    private BackendConnection hand(BackendUser user, Step step) {
        served = true;
        user.handedTo(latest, step);
        return Objects.requireNonNull(connection);
    }

    private boolean useLater(BackendUser user) {
        return core.log.<Boolean>step(step -> {
            if (state == State.CONNECTED) {
                // it is there since a moment ago
                BackendConnection now = hand(user, step);
                step.then(() -> user.use(now));
                return true;
            }
            if (!user.wanted(step)) {
                step.then(user::dropped);
                return true;
            }
            if (state == State.NEW) {
                user.turnAway(UNINITIALIZED, step);
                return false;
            }
            if (state == State.CLOSED || !add(user, step)) {
                user.turnAway("no backend is there", step);
                return false;
            }
            if (state == State.EMPTY) {
                restore(step);
            }
            return true;
        });
    }

    /** Somebody who has got the backend waits for something of it, and is dropped when it is gone. */
    void await(BackendUser user, Step step) {
        awaiting = awaiting.isEmpty() ? new HashSet<>() : awaiting;
        awaiting.add(user);
    }

    /** It has what it waited for. */
    void awaitNoMore(BackendUser user, Step step) {
        if (!awaiting.isEmpty()) {
            awaiting.remove(user);
        }
    }

    /**
     * Lets somebody have the backend that has taken the place of an incarnation, or is about to, behind all who wait for it; nothing
     * happens where there is none. Those who come so get it in the order of their steps.
     */
    void useAfter(int which, BackendUser user, Step step) {
        boolean succeeded = which < latest && present(latest) && state != State.CLOSED;
        if (succeeded && add(user, step) && state == State.CONNECTED) {
            serve(step);
        }
    }

    private boolean add(BackendUser user, Step step) {
        long bytes = user.bytes();
        if (waiting.size() >= MOST_WAITING || waitingBytes + bytes > core.host.limits.sessionBytes()) {
            return false;
        }
        waiting.addLast(new Waiting(user, bytes));
        grows(bytes, step);
        return true;
    }

    private List<? extends BackendUser> addAll(List<? extends BackendUser> users, Step step) {
        return users.stream().filter(user -> !add(user, step)).toList();
    }

    private List<Waiting> takeAll(Step step) {
        grows(-waitingBytes, step);
        return waiting.takeAll();
    }

    private void grows(long more, Step step) {
        waitingBytes += more;
        core.hold(step, more);
    }

    /** Whether somebody waits for a backend who is not turned away. */
    boolean isAwaited() {
        return core.log.look(() -> waiting.stream().anyMatch(entry -> entry.user.waitsOn()));
    }

    /** Lets those who wait have the backend that is there; then it is open to all. */
    private void serve(Step step) {
        state = State.SERVING;
        int present = latest;
        BackendConnection fresh = connection;
        if (fresh != null) {
            step.then(() -> serve(present, fresh));
        }
    }

    private void serve(int present, BackendConnection fresh) {
        Optional<BackendUser> next = nextUser(present);
        while (next.isPresent()) {
            next.get().use(fresh);
            next = nextUser(present);
        }
        core.host.makeRoom();
    }

    private Optional<BackendUser> nextUser(int present) {
        return core.log.step(step -> {
            if (state != State.SERVING || !present(present)) {
                return Optional.empty();
            }
            Optional<Waiting> first = waiting.takeFirst();
            state = first.isPresent() ? state : State.CONNECTED;
            first.ifPresent(entry -> {
                grows(-entry.bytes, step);
                hand(entry.user, step);
            });
            return first.map(Waiting::user);
        });
    }

    /** Opens a fresh one if there was one and nobody has asked for it yet. */
    void restore() {
        core.log.run(step -> {
            if (state == State.EMPTY) {
                restore(step);
                unasked = true;
            }
        });
    }

    private void restore(Step step) {
        int next = beginRestore();
        step.then(() -> restore(next));
    }

    private int beginRestore() {
        state = State.RESTORING;
        served = false;
        unasked = false;
        restoringSince = core.clock.now();
        return ++latest;
    }

    private boolean restoring(int which) {
        return state == State.RESTORING && present(which);
    }

    private void restore(int next) {
        InboundMessage initialize =
                core.log.look(() -> core.journal.initialize().withContext(context()));
        open(initialize, next, true).whenComplete((outcome, failure) -> {
            if (failure != null) {
                logger.error("session {}: the backend could not be opened", core.shortId(), failure);
                putOff(next, "the backend could not be opened");
            } else if (outcome instanceof Backend.Opened opened) {
                replay(next, opened);
            } else if (outcome instanceof Backend.Unreachable unreachable) {
                putOff(next, unreachable.cause());
            } else if (outcome instanceof Backend.Busy busy) {
                putOff(next, busy.cause());
            } else {
                giveUp(next, "the backend refused the session");
            }
        });
    }

    /** The context of the first message that waits and has one. */
    private Object context() {
        return waiting.stream()
                .map(entry -> entry.user.context())
                .filter(context -> context != InboundMessage.NO_CONTEXT)
                .findFirst()
                .orElse(InboundMessage.NO_CONTEXT);
    }

    private void replay(int restored, Backend.Opened fresh) {
        boolean wanted = core.log.step(step -> {
            boolean awaited = restoring(restored);
            connection = awaited ? fresh.connection() : connection;
            return awaited;
        });
        if (!wanted) {
            BackendSink.close(fresh.connection(), core);
            return;
        }
        if (!fresh.revision().equals(core.revision())) {
            giveUp(restored, "the backend now speaks revision " + fresh.revision());
            return;
        }
        List<InboundMessage> messages = core.log.look(core.journal::replay);
        core.host.later(() -> notRestored(restored, MUTE), REPLAY_MILLIS);
        CatchUp.replay(core.id(), messages, fresh.connection()).whenComplete((done, failure) -> {
            if (failure != null && (failure instanceof Error || failure.getCause() instanceof Error)) {
                notRestored(restored, "the backend failed");
            } else if (failure != null) {
                giveUp(restored, "the backend refused what it had accepted before");
            } else {
                restored(restored, fresh);
            }
        });
    }

    /** A fresh backend is there, in the state of the one before. */
    private void restored(int restored, Backend.Opened fresh) {
        boolean wanted = core.log.step(step -> {
            boolean awaited = restoring(restored);
            if (awaited) {
                state = State.SERVING;
                tell(RestoreOutcome.RESTORED, step);
            }
            return awaited;
        });
        if (wanted) {
            outbound.replaced(() -> present(restored), fresh.response());
            serve(restored, fresh.connection());
        }
    }

    private void tell(RestoreOutcome outcome, Step step) {
        Duration took = Duration.ofNanos(core.clock.now() - restoringSince);
        step.then(() -> core.host.telemetry.restoreEnded(core.id(), outcome, took));
    }

    /** The session cannot go on with any backend: nobody gets another one, though the end of the session may take its time. */
    private void giveUp(int restored, String cause) {
        core.log.run(step -> {
            if (endRestore(restored, cause, RestoreOutcome.FAILED, step)) {
                step.then(() -> core.host.telemetry.backendNotRestored(core.id(), cause));
                close(step);
                step.end(EndReason.RESTORE_FAILED);
            }
        });
    }

    /** There is no backend for the moment: whoever comes next may try again. */
    private void putOff(int restored, String cause) {
        core.log.run(step -> endRestore(restored, cause, RestoreOutcome.PUT_OFF, step));
    }

    /** Ends a restore, if it is under way: what it has asked is withdrawn, and those who waited for it are refused, or wait on. */
    private boolean endRestore(int restored, String cause, RestoreOutcome outcome, Step step) {
        if (state != State.RESTORING || restored != latest) {
            return false;
        }
        state = State.EMPTY;
        gone(restored, step);
        tell(outcome, step);
        outbound.backendLost(cause, step);
        boolean later = outcome == RestoreOutcome.PUT_OFF;
        if (later && unasked && waiting.stream().anyMatch(entry -> !entry.user.waitsOn())) {
            restore(step);
            return true;
        }
        for (Waiting entry : takeAll(step)) {
            if (!later || !entry.user.waitsOn() || !add(entry.user, step)) {
                entry.user.turnAway(cause, step);
            }
        }
        return true;
    }

    /** Gives this incarnation up, if its restore is still under way. */
    private void notRestored(int which, String cause) {
        core.log.run(step -> {
            if (restoring(which)) {
                lose(which, cause, List.of(), step);
            }
        });
    }

    /** Who takes the client's answers for this incarnation, also while it is being opened. */
    Optional<Consumer<InboundMessage>> answers(int which) {
        if (!present(which)) {
            return Optional.empty();
        }
        BackendConnection now = connection;
        if (now != null) {
            return Optional.of(now::answer);
        }
        return sink == null ? Optional.empty() : sink.answers();
    }

    /** An incarnation is gone, and has done nothing of some requests. */
    void lost(int which, String cause, List<InboundMessage> untouched) {
        core.log.run(step -> {
            if (present(which) && state != State.CLOSED) {
                lose(which, cause, untouched, step);
            } else {
                calls.untouched(untouched, request -> request.stranded(which), step)
                        .forEach(user -> step.then(() -> use(user)));
            }
        });
    }

    private void lose(int which, String cause, List<InboundMessage> untouched, Step step) {
        gone(which, step);
        Optional<BackendConnection> dead = disconnect();
        List<BackendUser> again = calls.untouched(untouched, request -> request.incarnation() == which, step);
        outbound.backendLost(cause, step);
        addAll(again, step).forEach(user -> user.turnAway(cause, step));
        step.then(() -> core.host.telemetry.backendLost(core.id(), cause));
        dead.ifPresent(last -> step.then(() -> BackendSink.close(last, core)));
        replace(which, cause, step);
    }

    /** Goes on after a loss: those who wait get another backend, unless the one that is gone served nobody. */
    private void replace(int gone, String cause, Step step) {
        if (state == State.RESTORING) {
            endRestore(gone, cause, RestoreOutcome.PUT_OFF, step);
        } else if (whatIsThere() == Presence.THERE && !waiting.isEmpty()) {
            if (served) {
                restore(step);
            } else {
                endRestore(beginRestore(), cause, RestoreOutcome.PUT_OFF, step);
            }
        } else if (state != State.OPENING) {
            state = State.EMPTY;
            sink = null;
        }
    }

    /** An incarnation says nothing any more. */
    private void gone(int which, Step step) {
        lastGone = which;
        awaiting.forEach(user -> step.then(user::dropped));
        awaiting = Set.of();
    }

    private Optional<BackendConnection> disconnect() {
        Optional<BackendConnection> last = Optional.ofNullable(connection);
        connection = null;
        return last;
    }

    /** Closes an unused backend to make room for another session's; whoever needs it next gets a fresh one. */
    boolean release() {
        return core.log.<Boolean>step(step -> {
            BackendConnection unused = connection;
            Lifecycle.State now = core.lifecycle.state();
            if (state != State.CONNECTED || unused == null || now.works() || now.closed() || readers.isRead()) {
                return false;
            }
            state = State.EMPTY;
            gone(latest, step);
            connection = null;
            // what it has set there must not keep it in memory
            sink = null;
            outbound.backendLost("another session needed the backend", step);
            step.then(() -> core.host.telemetry.backendReleased(core.id()));
            step.then(() -> BackendSink.close(unused, core));
            return true;
        });
    }

    void close(Step step) {
        state = State.CLOSED;
        gone(latest, step);
        takeAll(step).forEach(entry -> step.then(entry.user::dropped));
        if (sink != null) {
            step.then(sink::abandon);
        }
        sink = null;
        disconnect().ifPresent(last -> step.then(() -> BackendSink.close(last, core)));
    }
}
