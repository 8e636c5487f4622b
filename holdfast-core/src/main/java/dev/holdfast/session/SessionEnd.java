package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.SessionState;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.log.Step;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.session.Lifecycle.Move;
import dev.holdfast.session.Lifecycle.State;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RecordChange;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a session leaves memory: for good, or to wait in the store for its client; and what time does to it until then. Its calls end,
 * what it keeps grows old, its record has to be renewed, its backend comes back. Whoever makes the move that closes it lets everything
 * go.
 */
public final class SessionEnd {
    private static final Logger logger = LoggerFactory.getLogger(SessionEnd.class);
    private static final String SHUTDOWN = "the server was shut down before this call had ended";
    private static final long FIRST_DELAY_MILLIS = 500;
    private static final long LONGEST_DELAY_MILLIS = 60_000;
    /** The client of a call whose start the store does not take is refused within 3 s: after this, and a sweep. */
    private static final long STUCK_NANOS = 2_000_000_000L;

    private static final long FIRST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long MOST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final SessionCore core;
    private final Calls calls;
    private final Outbound outbound;
    private final BackendSlot backend;
    private final Readers readers;
    /** Completes when the session is gone; made when somebody first asks for it. */
    private @Nullable CompletableFuture<Void> gone;

    private boolean finished;
    private long taken;
    private long tookAt;
    /** Whether the backend was there when this last looked. */
    private boolean there;
    /** When the last attempt to open one began, or when one was first seen. */
    private long since;
    /** How long to wait before the next attempt; partly random, so that sessions do not come together. */
    private long pause;

    SessionEnd(SessionCore core, Calls calls, Outbound outbound, BackendSlot backend, Readers readers) {
        this.core = core;
        this.calls = calls;
        this.outbound = outbound;
        this.backend = backend;
        this.readers = readers;
        this.tookAt = core.since;
    }

    /**
     * Looks whether time has ended something.
     *
     * @param parkNanos how long a client may be away before its session leaves memory
     */
    public void sweep(long now, long parkNanos) {
        if (!core.alive(core.lifecycle.expire(now))) {
            return;
        }
        State seen = core.lifecycle.state();
        boolean away = core.host.durable && core.host.cluster().mayPark(seen.phase()) && !seen.held();
        if (away && core.clock.passed(parkNanos, seen.since(), now) && park(seen)) {
            return;
        }
        if (neverInitialized(seen, now)) {
            forgotten(seen);
            return;
        }
        core.log.run(step -> grownOld(now, step));
        revive(now);
    }

    /** Its client has forgotten it, unless it has initialized it on another node, or does so here meanwhile. */
    private void forgotten(State seen) {
        StoreQuestion.ask(() -> core.host.cluster().initializedElsewhere(core.key()))
                .thenAccept(record -> record.ifPresentOrElse(new CatchUp(core, backend)::follow, () -> expire(seen)));
    }

    /** Whether its client has attached and then said nothing for too long. */
    private boolean neverInitialized(State seen, long now) {
        return core.listensOnly
                && core.revision().isEmpty()
                && seen.running() == 0
                && core.clock.passed(core.lifetime.initializationNanos(), core.since, now);
    }

    /** Whether the store takes nothing of what it was given. */
    private boolean isStuck(long now) {
        if (core.outbox.answered() || core.outbox.taken() != taken) {
            taken = core.outbox.taken();
            tookAt = now;
        }
        return !core.host.cluster().repeatsCommits() && core.clock.passed(STUCK_NANOS, tookAt, now);
    }

    private void grownOld(long now, Step step) {
        calls.timeOut(now, step);
        if (isStuck(now)) {
            calls.refuseUnstarted(null, step);
        }
        if (core.streams.sweep(now, step)) {
            core.outbox.flush(step);
        }
        if (core.outbox.open()) {
            List<RecordChange> due = core.record.due(core.streams.listening().confirmed(), step);
            if (!due.isEmpty()) {
                core.outbox.insist(due, step);
            }
        }
    }

    /**
     * Opens a fresh backend for a client that only listens, and for calls that wait on: the one that was lost, or could not be reached,
     * would be missed for ever by who sends nothing. At once the first time, then after pauses that double, each longer by up to a
     * quarter so that sessions which lost theirs together do not come together, until one has stayed for a minute.
     */
    private void revive(long now) {
        BackendSlot.Presence seen = backend.presence();
        if (seen == BackendSlot.Presence.THERE) {
            since = there ? since : now;
            there = true;
            pause = core.clock.passed(MOST_PAUSE_NANOS, since, now) ? 0 : pause;
            return;
        }
        there = false;
        boolean due = pause == 0 || core.clock.passed(pause, since, now);
        if (seen == BackendSlot.Presence.MISSING && due && wanted()) {
            since = now;
            long doubled = Math.min(Math.max(2 * pause, FIRST_PAUSE_NANOS), MOST_PAUSE_NANOS);
            pause = doubled + core.host.random.nextLong(doubled / 4);
            StoreQuestion.ask(() -> core.host.cluster().mayOpenBackend(core.key()))
                    .whenComplete(this::open);
        }
    }

    /** Where nobody knows whether it may be opened, it is tried again like one that cannot be reached. */
    private void open(@Nullable Boolean may, @Nullable Throwable failure) {
        if (failure != null) {
            logger.debug("session {}: nobody knows which node has its backend", core.shortId(), failure);
        } else if (Boolean.TRUE.equals(may) && !core.host.elsewhere(backend::restore)) {
            logger.debug("session {}: nobody can open its backend now", core.shortId());
        }
    }

    /** A backend that takes headers of a request along waits for a request. */
    private boolean wanted() {
        return (readers.listening() || backend.isAwaited())
                && core.host.storeWorks()
                && !core.host.draining()
                && !core.lifecycle.closed()
                && !core.host.backend.needsContext();
    }

    /**
     * Completes when a session that is closed has left memory, and one that has ended the store as well; fails if the store
     * could not let it go at once.
     */
    public CompletionStage<Void> gone() {
        return core.log.step(step -> {
            CompletableFuture<Void> stage = gone;
            if (stage == null) {
                stage = new CompletableFuture<>();
                gone = stage;
                if (finished) {
                    step.complete(stage);
                }
            }
            return stage;
        });
    }

    /** Whether a session that is closed can be found in the store again when it is {@link #gone}. */
    public boolean leavesToStore() {
        return core.leavesToStore(core.ended());
    }

    /** Its client wants it no more: ends it, be it on its way into the store. Completes when nothing is left of it. */
    CompletionStage<Void> terminate() {
        CompletionStage<Void> end = gone();
        end(EndReason.TERMINATED);
        return leavesToStore()
                ? end.thenCompose(put -> core.host.terminate(core.id(), core.principal))
                        .thenAccept(was -> {})
                : end;
    }

    void end(EndReason why) {
        closed(core.lifecycle.close(why));
    }

    /** Ends the session if it is still in this state; false if it is not. */
    public boolean evict(State seen) {
        return endIf(seen, EndReason.EVICTED);
    }

    /** Its time is over, if it is still in this state; false if it is not. */
    boolean expire(State seen) {
        return endIf(seen, EndReason.EXPIRED);
    }

    private boolean endIf(State seen, EndReason why) {
        Move move = core.lifecycle.closeIf(seen, why);
        closed(move);
        return move.closes();
    }

    public void closed(Move move) {
        if (!move.closes()) {
            return;
        }
        EndReason why = core.ended();
        leaveMemory();
        List<LiveCall.Request> running = outbound.running();
        outbound.failRunning(SessionCore.ended(why)).whenComplete((done, failure) -> {
            tell(why, move.before());
            if (core.isTakenOver() && why != EndReason.TERMINATED) {
                giveUp();
            } else {
                release(why, running);
                deleteRecord(FIRST_DELAY_MILLIS);
            }
        });
    }

    private void tell(EndReason why, State before) {
        Telemetry telemetry = core.host.telemetry;
        if (why == EndReason.PARKED) {
            // its node has no lease: it waits in the store for whoever is asked for it
            telemetry.parked(core.id());
        } else {
            String because = why == EndReason.EXPIRED ? core.lifecycle.limit(before) : why.text();
            telemetry.closed(core.id(), why, because, before, core.kind, core::told);
        }
    }

    /** Lets go of a session that somebody else has claimed, or may have: what the store has of it is theirs. */
    void giveUp() {
        release(EndReason.TAKEN_OVER, List.of());
        core.host.forget(core.key());
        finish();
    }

    void leaveMemory() {
        core.host.leaves(core.principal);
        outbound.leave();
    }

    /**
     * Ends its log, its streams and its backend.
     *
     * @param stopped what the backend shall give up, for nobody goes on with it
     */
    private void release(EndReason why, List<LiveCall.Request> stopped) {
        outbound.close(why);
        readers.close(why);
        outbound.stop(stopped);
        core.log.run(backend::close);
    }

    /**
     * Answers what still runs with an error, then lets every connection end in order, so that its client comes back to the
     * successor of this server.
     */
    public void handOver() {
        List<LiveCall.Request> ending = core.outlives() ? List.of() : outbound.running();
        outbound.failUnrepeatable(core.host.durable ? SHUTDOWN : SessionCore.ended(EndReason.DRAINED))
                .whenComplete((done, failure) -> {
                    readers.handOver();
                    outbound.stop(ending);
                });
    }

    /** Ends a session whose id no client has got. */
    public void abandon() {
        core.lifecycle.close(EndReason.DRAINED);
        release(EndReason.DRAINED, List.of());
        outbound.leave();
        core.host.abandoned(core.principal);
    }

    /** Lets the store forget a session whose id no client has got. */
    public void forget() {
        StoreQuestion.ask(() -> core.host.store().delete(core.key())).whenComplete((done, failure) -> {
            if (failure != null) {
                core.host.telemetry.notDeleted(core.id(), failure);
            }
        });
    }

    /** Lets the store forget the session: until it has, nobody may bring it back, unless another node has it since. */
    private void deleteRecord(long delay) {
        removal().whenComplete((done, failure) -> {
            if (failure == null) {
                core.host.forget(core.key());
                finish();
                return;
            }
            core.host.telemetry.notDeleted(core.id(), failure);
            waiting().ifPresent(stage -> stage.completeExceptionally(new StoreUnavailableException(failure)));
            if (core.host.draining()) {
                finish();
            } else {
                core.host.later(() -> deleteRecord(Math.min(2 * delay, LONGEST_DELAY_MILLIS)), delay);
            }
        });
    }

    /**
     * Whether it has ended because nobody used it here; another node may have used it later, unless it ends with its nodes. One that was
     * used is evicted where the store has no room for it: it must not stay there.
     */
    private boolean wasUnused() {
        return switch (core.ended()) {
            case EXPIRED -> core.outlives();
            case EVICTED -> core.outlives() && !core.lifecycle.state().used();
            default -> false;
        };
    }

    private CompletionStage<?> removal() {
        if (core.endsEverywhere(core.ended())) {
            return StoreQuestion.ask(() -> core.host.store().delete(core.key()));
        }
        Epoch last = core.log.look(core.log::epoch);
        return wasUnused() ? core.host.expire(core.key(), last) : core.host.remove(core.key(), last);
    }

    /** Nothing is left of it here. */
    void finish() {
        core.host.ended();
        core.log.run(step -> finished = true);
        waiting().ifPresent(stage -> stage.complete(null));
    }

    private Optional<CompletableFuture<Void>> waiting() {
        return core.log.look(() -> Optional.ofNullable(gone));
    }

    /** Whether the store would bring back a session that leaves memory in this state. */
    public boolean mayPark(State seen) {
        return core.outlives()
                && seen.used()
                && !core.revision().isEmpty()
                && core.host.canPark(core.principal, core.weight());
    }

    /** Whether other nodes wait until the session has left this one, which may have its only backend. */
    public boolean awaited() {
        return core.host.cluster().backendMayBeElsewhere() && core.outlives();
    }

    /** Whether the store has all that it was given, so that nothing is in doubt when the session leaves. */
    public boolean resting() {
        return core.log.look(core.outbox::resting);
    }

    /** Parks the session if it is still in this state, and if it can come back; false if not. */
    public boolean park(State seen) {
        if (!mayPark(seen) || !resting()) {
            return false;
        }
        Move move = core.lifecycle.closeIf(seen, EndReason.PARKED);
        if (move.closes()) {
            depart(seen.since(), core.lifecycle.timeoutNanos(seen), RecordState.MARGIN);
        }
        return move.closes();
    }

    /** The server ends: parks the session for the next one, or ends it where the store or its grace period does not last. */
    public void drain() {
        if (!core.outlives()) {
            end(EndReason.DRAINED);
            return;
        }
        park(core.lifecycle.close(EndReason.PARKED));
    }

    /** Parks the session before those that still run calls, if it is still in this state. */
    public void leave(State seen) {
        park(core.lifecycle.closeIf(seen, EndReason.PARKED));
    }

    private void park(Move move) {
        if (move.closes()) {
            boolean detached = move.before().phase() == SessionState.DETACHED;
            long nanos = detached ? core.lifetime.graceNanos() : core.lifetime.longestNanos();
            depart(core.clock.now(), nanos, Duration.ZERO);
        }
    }

    /**
     * Leaves memory.
     *
     * @param since when it began to wait for its client, by the engine's clock
     * @param nanos how long it waits, in nanoseconds
     * @param margin how much longer the store keeps it than that, where an engine lives that ends it in time
     */
    private void depart(long since, long nanos, Duration margin) {
        long now = core.clock.now();
        Duration waits = Duration.ofNanos(Math.max(0, nanos - (now - since))).plus(margin);
        long bytes = core.leaves();
        leaveMemory();
        part(waits).whenComplete((done, failure) -> {
            if (core.isTakenOver()) {
                // it waits in the store all the same, or another node has it from there
                core.host.telemetry.parked(core.id());
                giveUp();
                return;
            }
            release(EndReason.PARKED, List.of());
            Epoch epoch = core.log.look(core.log::epoch);
            core.host.parked(core.key(), core.id(), core.principal, epoch, bytes, since, nanos, margin);
            core.host.telemetry.parked(core.id());
            finish();
        });
    }

    /** Tells the store the last of it; nothing is sent from then on. Completes when it has that. */
    private CompletionStage<Void> part(Duration waits) {
        core.log.run(step -> {
            if (core.outbox.open()) {
                long read = core.streams.listening().confirmed();
                core.host.cluster().parting(core.streams, step);
                core.outbox.leave(core.record.parted(read, waits, step), step);
            }
        });
        return core.log.settled();
    }
}
