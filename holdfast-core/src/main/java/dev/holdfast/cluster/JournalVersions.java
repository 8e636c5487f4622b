package dev.holdfast.cluster;

import dev.holdfast.Call;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.session.LiveCall;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.StoreQuestion;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings sessions here to the version of their journal that this node has heard of: each commit tells of it, and so do other nodes.
 * What is missing is read once for all who need it at the same time, and no call runs before the backend has it.
 */
final class JournalVersions {
    private static final Logger logger = LoggerFactory.getLogger(JournalVersions.class);
    private static final String UNREAD = "what other nodes have set could not be read";

    private final NodeStore store;
    private final Executor blocking;
    private final SharedWork<LiveSession, Boolean> underWay = new SharedWork<>();

    /**
     * @param blocking does something where it may block
     */
    JournalVersions(NodeStore store, Executor blocking) {
        this.store = store;
        this.blocking = blocking;
    }

    /**
     * A call that has begun here goes on when the backend has what other nodes have put into the journal before. Where that cannot be
     * read, the call does not run; then this fails.
     */
    CompletionStage<Call.Outcome> before(LiveSession session, Call.Outcome outcome) {
        return outcome instanceof Call.Accepted accepted && accepted.call() instanceof LiveCall call
                ? bring(session).handle((done, failure) -> {
                    if (failure != null && session.withdraw(call)) {
                        logger.warn("session {}: a call does not run, for {}", session.shortId(), UNREAD, failure);
                        throw new StoreUnavailableException(failure);
                    }
                    return outcome;
                })
                : CompletableFuture.completedFuture(outcome);
    }

    /** Another node has heard of this version. */
    CompletionStage<Void> reach(LiveSession session, long version) {
        store.membership(session.key()).ifPresent(own -> own.heardOf(version));
        return reached(session);
    }

    /** Completes when the session and its backend have the newest version that is known of; fails where that cannot be read. */
    CompletionStage<Void> bring(LiveSession session) {
        Optional<Membership> own = store.membership(session.key());
        long missing = own.map(Membership::missing).orElse(-1L);
        if (own.isEmpty() || missing < 0) {
            return CompletableFuture.completedFuture(null);
        }
        return underWay.of(session, () -> read(session, own.get(), missing)).thenCompose(done -> bring(session));
    }

    /** The same, but completes also where that cannot be read: whatever waits goes on then. */
    CompletionStage<Void> reached(LiveSession session) {
        return bring(session).exceptionally(failure -> {
            // the next call catches up, or does not run
            logger.warn("session {}: {}", session.shortId(), UNREAD, failure);
            return null;
        });
    }

    /**
     * The same for a call that is run again, whose client cannot try it once more: asks until that can be read, as long as this node
     * has its lease.
     */
    CompletionStage<Void> insist(LiveSession session) {
        return untilRead(session).whenComplete((done, failure) -> {
            if (failure != null) {
                logger.warn("session {}: a call is not run again, for {}", session.shortId(), UNREAD, failure);
            }
        });
    }

    private CompletionStage<Void> untilRead(LiveSession session) {
        return bring(session).exceptionallyCompose(failure -> {
            Optional<Membership> own = store.membership(session.key());
            boolean lasts = own.isPresent() && LastingQuestions.causeOf(failure) instanceof StoreUnavailableException;
            return lasts
                    ? store.insist(own.get().node, () -> store.look(session.key()))
                            .thenCompose(answered -> untilRead(session))
                    : CompletableFuture.failedFuture(failure);
        });
    }

    /** Completes when a session that another node may have initialized has that from there; fails where nobody knows. */
    CompletionStage<Void> begun(LiveSession session) {
        return session.revision().isEmpty() ? read(session) : CompletableFuture.completedFuture(null);
    }

    private CompletionStage<Boolean> read(LiveSession session, Membership own, long missing) {
        return read(session).thenApply(done -> {
            own.caughtUp(missing);
            return true;
        });
    }

    private CompletionStage<Void> read(LiveSession session) {
        return StoreQuestion.ask(() -> store.look(session.key()))
                .thenComposeAsync(
                        look -> look.isEmpty()
                                ? CompletableFuture.<Void>completedFuture(null)
                                : session.shared().catchUp(look.get().record()),
                        blocking);
    }
}
