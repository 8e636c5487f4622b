package dev.holdfast;

import dev.holdfast.Lifecycle.Move;
import dev.holdfast.Lifecycle.State;
import dev.holdfast.spi.BackendConnection;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a session leaves memory: for good, or to come back. Whoever wins the step that closes it lets everything go. Called
 * without the session's lock.
 */
final class Ending {
    private static final Logger logger = LoggerFactory.getLogger(Ending.class);
    private static final String SHUTDOWN = "the server was shut down before this call had ended";
    private static final long FIRST_DELAY_MILLIS = 500;
    private static final long LONGEST_DELAY_MILLIS = 60_000;

    private final LiveSession session;
    private final SessionEngine engine;
    private final Lifetime lifetime;
    private final Lifecycle lifecycle;
    private final Outflow outflow;
    private final BackendSlot backend;
    /** What others wait for, made when the first of them comes; guarded by the session's lock. */
    private @Nullable CompletableFuture<Void> gone;

    private boolean left;

    Ending(
            LiveSession session,
            SessionEngine engine,
            Lifetime lifetime,
            Lifecycle lifecycle,
            Outflow outflow,
            BackendSlot backend) {
        this.session = session;
        this.engine = engine;
        this.lifetime = lifetime;
        this.lifecycle = lifecycle;
        this.outflow = outflow;
        this.backend = backend;
    }

    /**
     * Completes when a session that is closed has left memory, and one that has ended the store as well; fails if the store
     * could not let it go at once.
     */
    CompletionStage<Void> gone() {
        return session.locked(() -> {
            if (gone == null) {
                gone = new CompletableFuture<>();
                if (left) {
                    gone.complete(null);
                }
            }
            return gone;
        });
    }

    /** Its client wants it no more: ends it, be it on its way into the store. Completes when nothing is left of it. */
    CompletionStage<Void> terminate() {
        CompletionStage<Void> gone = gone();
        close(EndReason.TERMINATED);
        return session.ended() == EndReason.PARKED
                ? gone.thenCompose(put -> engine.terminate(session.id(), session.principal()))
                        .thenApply(was -> null)
                : gone;
    }

    void close(EndReason why) {
        close(lifecycle.close(why));
    }

    /** Ends the session if it is still in this state; false if it is not. */
    boolean evict(State seen) {
        Move move = lifecycle.closeIf(seen, EndReason.EVICTED);
        close(move);
        return move.closes();
    }

    /** Ends what the step has closed. */
    void close(Move move) {
        if (!move.closes()) {
            return;
        }
        EndReason why = session.ended();
        leave();
        CompletionStage<Void> answered = outflow.failRunning("the session has ended: " + why.text());
        if (answered == SessionLog.DONE) {
            bury(why, move);
        } else {
            answered.whenComplete((done, failure) -> bury(why, move));
        }
    }

    /** It takes no room any more. */
    private void leave() {
        engine.leaves(session);
        outflow.leave();
    }

    private void bury(EndReason why, Move move) {
        outflow.close(why);
        backend.close();
        deleteRecord(FIRST_DELAY_MILLIS);
        engine.news().closed(session, why, move.before().used());
    }

    /** Parks the session if it is still in this state; false if it is not. */
    boolean park(State seen) {
        Move move = lifecycle.closeIf(seen, EndReason.PARKED);
        if (move.closes()) {
            depart(seen.since(), lifecycle.patience(seen));
        }
        return move.closes();
    }

    /**
     * @param since when it began to wait for its client, by the engine's clock
     * @param patience how long it waits
     */
    private void depart(long since, long patience) {
        Duration left = Duration.ofNanos(Math.max(0, patience - (engine.now() - since)));
        long bytes = session.historyBytes();
        leave();
        session.housekeeping().part(left).whenComplete((done, failure) -> {
            outflow.close(EndReason.PARKED);
            backend.close();
            engine.sessions().park(session, bytes, since, patience);
            engine.news().parked(session);
            left();
        });
    }

    /**
     * Answers what still runs with an error, then lets every connection end in order, so that its client comes back to the
     * successor of this server.
     */
    void handOver() {
        outflow.failUnrepeatable(engine.durable() ? SHUTDOWN : "the session has ended: " + EndReason.DRAINED.text())
                .whenComplete((done, failure) -> session.locked(
                                () -> outflow.streams().all())
                        .forEach(stream -> session.attachments().end(stream, EndReason.DRAINED, Optional.empty())));
    }

    /** The server ends: the session waits in the store for the next one, if both last so long. */
    void drain() {
        if (!engine.durable() || lifetime.grace().isZero()) {
            close(EndReason.DRAINED);
            return;
        }
        Move move = lifecycle.close(EndReason.PARKED);
        if (move.closes()) {
            boolean detached = move.before().phase() == SessionState.DETACHED;
            depart(engine.now(), detached ? lifetime.graceNanos() : lifetime.longestNanos());
        }
    }

    /** Ends a session that nobody ever learnt of. */
    void abandon() {
        lifecycle.close(EndReason.DRAINED);
        outflow.leave();
        outflow.close(EndReason.DRAINED);
        backend.close();
        engine.abandoned(session);
    }

    /** Lets the store forget a session that nobody ever learnt of. */
    void forget() {
        Return.fromStore(() -> engine.store().delete(session.key())).whenComplete((done, failure) -> {
            if (failure != null) {
                engine.news().notDeleted(session.id(), failure);
            }
        });
    }

    /** Lets the store forget the session: until it has, nobody may bring it back. */
    private void deleteRecord(long delay) {
        Return.fromStore(() -> engine.store().delete(session.key())).whenComplete((done, failure) -> {
            if (failure == null) {
                engine.sessions().remove(session);
                left();
                return;
            }
            engine.news().notDeleted(session.id(), failure);
            waiting().ifPresent(stage -> stage.completeExceptionally(new StoreUnavailableException(failure)));
            if (engine.draining()) {
                left();
            } else {
                engine.later(() -> deleteRecord(Math.min(2 * delay, LONGEST_DELAY_MILLIS)), delay);
            }
        });
    }

    private void left() {
        engine.ended();
        session.locked(() -> left = true);
        waiting().ifPresent(stage -> stage.complete(null));
    }

    private Optional<CompletableFuture<Void>> waiting() {
        return session.locked(() -> Optional.ofNullable(gone));
    }

    /** Ends a connection to a backend; a drain waits for it. */
    void closing(BackendConnection connection) {
        try {
            engine.closing(connection.close().whenComplete((done, failure) -> {
                if (failure != null) {
                    logger.error("session {}: the backend did not close", session.shortId(), failure);
                }
            }));
        } catch (Throwable e) {
            logger.error("session {}: the backend failed on its close", session.shortId(), e);
        }
    }
}
