package dev.holdfast;

import dev.holdfast.Lifecycle.Move;
import dev.holdfast.spi.BackendConnection;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a session ends: whoever wins the step that closes it answers every running call, then lets everything go. Called without
 * the session's lock.
 */
final class Ending {
    private static final Logger logger = LoggerFactory.getLogger(Ending.class);

    private final LiveSession session;
    private final SessionEngine engine;
    private final Lifecycle lifecycle;
    private final Outflow outflow;
    private final BackendSlot backend;
    private volatile EndReason reason = EndReason.EXPIRED;

    Ending(LiveSession session, SessionEngine engine, Lifecycle lifecycle, Outflow outflow, BackendSlot backend) {
        this.session = session;
        this.engine = engine;
        this.lifecycle = lifecycle;
        this.outflow = outflow;
        this.backend = backend;
    }

    /** Why it has ended, once it has. */
    EndReason reason() {
        return reason;
    }

    void close(EndReason why) {
        close(why, lifecycle.close());
    }

    /** Ends the session if it is still in this state; false if it is not. */
    boolean evict(Lifecycle.State seen) {
        Move move = lifecycle.closeIf(seen);
        close(EndReason.EVICTED, move);
        return move.closes();
    }

    /** Ends what the step has closed. */
    void close(EndReason why, Move move) {
        if (!move.closes()) {
            return;
        }
        reason = why;
        engine.forget(session);
        outflow.leave();
        CompletionStage<Void> answered = outflow.failRunning(why);
        if (answered == SessionLog.DONE) {
            bury(why, move);
        } else {
            answered.whenComplete((done, failure) -> bury(why, move));
        }
    }

    private void bury(EndReason why, Move move) {
        outflow.close(why);
        backend.close();
        deleteRecord();
        engine.news().closed(session, why, move.before().used());
        engine.ended();
    }

    /**
     * Answers what still runs with an error, then lets every connection end in order, so that its client comes back to the
     * successor of this server.
     */
    void handOver() {
        outflow.failRunning(EndReason.DRAINED)
                .whenComplete((done, failure) -> session.locked(
                                () -> session.streams().all())
                        .forEach(stream -> session.attachments().end(stream, EndReason.DRAINED, Optional.empty())));
    }

    /** Ends a session that nobody ever learnt of. */
    void abandon() {
        lifecycle.close();
        outflow.abandon();
        backend.close();
        engine.abandoned(session);
    }

    /** Lets the store forget the session. */
    void deleteRecord() {
        engine.store().delete(session.key()).whenComplete((done, failure) -> {
            if (failure != null) {
                logger.warn("session {}: the store did not delete it: {}", session.shortId(), failure.toString());
            }
        });
    }

    /** Ends a connection to a backend; a drain waits for it. */
    void closing(BackendConnection connection) {
        try {
            engine.closing(connection.close().whenComplete((gone, failure) -> {
                if (failure != null) {
                    logger.error("session {}: the backend did not close", session.shortId(), failure);
                }
            }));
        } catch (RuntimeException e) {
            logger.error("session {}: the backend failed on its close", session.shortId(), e);
        }
    }
}
