package dev.holdfast.cluster;

import dev.holdfast.Call;
import dev.holdfast.LogThrottle;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.log.StoreQuestion.UnreadableException;
import dev.holdfast.session.LiveCall;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.SingleFlight;
import dev.holdfast.spi.SessionStore.Look;
import dev.holdfast.spi.UnreadableSessionException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings sessions here to the version of their journal that this node has heard of: each commit tells of it, and so do other nodes.
 * What is missing is read once for all who need it at the same time, and no call runs before the backend has it.
 */
final class JournalVersions {
    private static final Logger logger = LoggerFactory.getLogger(JournalVersions.class);
    private static final String UNREAD = "what other nodes have set could not be read";
    private static final int MOST_LINES = 10;
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final ClusterWriter store;
    private final Executor blocking;
    /** Of a store that does not answer each session tells, and each of its calls. */
    private final LogThrottle lines = new LogThrottle(MOST_LINES, System::nanoTime);

    private final SingleFlight<LiveSession, Optional<StoreUnavailableException>> underWay = new SingleFlight<>();

    /**
     * @param blocking does something where it may block
     */
    JournalVersions(ClusterWriter store, Executor blocking) {
        this.store = store;
        this.blocking = blocking;
    }

    /**
     * A call that has begun here goes on when the backend has what other nodes have put into the journal before. Where that cannot be
     * read, the call does not run; then this fails, or says that the session has ended.
     */
    CompletionStage<Call.Outcome> catchUpFor(LiveSession session, Call.Outcome outcome) {
        return outcome instanceof Call.Accepted accepted && accepted.call() instanceof LiveCall call
                ? catchUp(session, CompletableFuture::failedFuture)
                        .handle((done, failure) -> failure == null ? outcome : unread(session, call, outcome, failure))
                : CompletableFuture.completedFuture(outcome);
    }

    private Call.Outcome unread(LiveSession session, LiveCall call, Call.Outcome begun, Throwable failure) {
        boolean calledOff = session.callOff(call);
        boolean ended = ends(session, failure);
        if (!calledOff) {
            return begun;
        }
        if (ended) {
            return new Call.Closed(session.ended());
        }
        tell(session, "a call does not run, for ", failure);
        throw new StoreUnavailableException(failure);
    }

    private void tell(LiveSession session, String what, Throwable failure) {
        String cause = String.valueOf(StoreQuestion.causeOf(failure));
        lines.write(more -> logger.warn("session {}: {}{}: {}{}", session.shortId(), what, UNREAD, cause, more));
    }

    /** Ends a session whose journal will never be readable; false if it may be later. */
    private static boolean ends(LiveSession session, Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof UnreadableException || cause instanceof UnreadableSessionException) {
                session.unreadable(cause);
                return true;
            }
        }
        return false;
    }

    /** Completes, never with a failure, once the session and its backend have the newest known version, or once that could not be read. */
    CompletionStage<Void> catchUpIfPossible(LiveSession session) {
        return catchUp(session, CompletableFuture::failedFuture).exceptionally(failure -> {
            if (!ends(session, failure)) {
                // the next call catches up, or does not run
                tell(session, "", failure);
            }
            return null;
        });
    }

    /**
     * The same for a call that is run again, whose client cannot try it once more: asks until that can be read, as long as this node
     * has its lease, and fails then.
     */
    CompletionStage<Void> insistOnCatchUp(LiveSession session) {
        return untilRead(session).whenComplete((done, failure) -> {
            if (failure != null && !ends(session, failure)) {
                tell(session, "a call is not run again, for ", failure);
            }
        });
    }

    private CompletionStage<Void> untilRead(LiveSession session) {
        return catchUp(session, failure -> {
            Optional<Membership> own = store.membership(session.key());
            return own.isEmpty()
                    ? DONE
                    : store.lease()
                            .insist(own.get().node, () -> store.look(session.key()))
                            .thenCompose(answered -> untilRead(session));
        });
    }

    /**
     * Completes when they have it.
     *
     * @param unanswered what is done where the store does not answer
     */
    private CompletionStage<Void> catchUp(
            LiveSession session, Function<StoreUnavailableException, CompletionStage<Void>> unanswered) {
        Optional<Membership> own = store.membership(session.key());
        long missing = own.map(Membership::missing).orElse(-1L);
        if (own.isEmpty() || missing < 0) {
            return DONE;
        }
        return underWay.of(session, () -> StoreQuestion.ask(() -> read(session, own.get(), missing)))
                .thenCompose(failure ->
                        failure.isPresent() ? unanswered.apply(failure.get()) : catchUp(session, unanswered));
    }

    /** Completes when a session that another node may have initialized has that from there; fails where nobody knows. */
    CompletionStage<Void> learnRevision(LiveSession session) {
        return session.revision().isEmpty()
                ? look(session)
                        .thenComposeAsync(look -> follow(session, look), blocking)
                        .exceptionally(failure -> {
                            if (!ends(session, failure)) {
                                throw new StoreUnavailableException(failure);
                            }
                            return null;
                        })
                : DONE;
    }

    /** Completes with why the store has not answered, if it has not. */
    private CompletionStage<Optional<StoreUnavailableException>> read(
            LiveSession session, Membership own, long missing) {
        return look(session)
                .handleAsync(
                        (look, failure) -> {
                            if (StoreQuestion.causeOf(failure) instanceof StoreUnavailableException away) {
                                return CompletableFuture.completedFuture(Optional.of(away));
                            }
                            CompletionStage<Void> followed =
                                    failure == null ? follow(session, look) : CompletableFuture.failedFuture(failure);
                            return followed.thenApply(done -> {
                                own.caughtUp(missing);
                                return Optional.<StoreUnavailableException>empty();
                            });
                        },
                        blocking)
                .thenCompose(Function.identity());
    }

    private CompletionStage<Optional<Look>> look(LiveSession session) {
        return StoreQuestion.ask(() -> store.look(session.key()));
    }

    private static CompletionStage<Void> follow(LiveSession session, Optional<Look> look) {
        return look.isEmpty() ? DONE : session.catchUp().to(look.get().record());
    }
}
