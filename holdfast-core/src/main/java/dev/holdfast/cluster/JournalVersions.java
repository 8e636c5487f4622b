package dev.holdfast.cluster;

import dev.holdfast.Call;
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
 * What is missing is read once for all who need it at the same time, and nobody goes on before the backend has it.
 */
final class JournalVersions {
    private static final Logger logger = LoggerFactory.getLogger(JournalVersions.class);

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

    /** A call that has begun here goes on when the backend has what other nodes have put into the journal before. */
    CompletionStage<Call.Outcome> before(LiveSession session, Call.Outcome outcome) {
        return outcome instanceof Call.Accepted
                ? reached(session).thenApply(done -> outcome)
                : CompletableFuture.completedFuture(outcome);
    }

    /** Another node has heard of this version. */
    CompletionStage<Void> reach(LiveSession session, long version) {
        store.membership(session.key()).ifPresent(own -> own.heardOf(version));
        return reached(session);
    }

    /** Completes when the session and its backend have the newest version that is known of; also where that cannot be read. */
    CompletionStage<Void> reached(LiveSession session) {
        return bring(session).exceptionally(failure -> {
            // whatever waits has to go on; the next call catches up
            logger.warn("session {}: what other nodes have set could not be read", session.shortId(), failure);
            return null;
        });
    }

    private CompletionStage<Void> bring(LiveSession session) {
        Optional<Membership> own = store.membership(session.key());
        long missing = own.map(Membership::missing).orElse(-1L);
        if (own.isEmpty() || missing < 0) {
            return CompletableFuture.completedFuture(null);
        }
        return underWay.of(session, () -> read(session, own.get(), missing)).thenCompose(done -> bring(session));
    }

    private CompletionStage<Boolean> read(LiveSession session, Membership own, long missing) {
        return StoreQuestion.ask(() -> store.look(session.key()))
                .thenComposeAsync(
                        look -> look.isEmpty()
                                ? CompletableFuture.<Void>completedFuture(null)
                                : session.shared().catchUp(look.get().record()),
                        blocking)
                .thenApply(done -> {
                    own.caughtUp(missing);
                    return true;
                });
    }
}
