package dev.holdfast.cluster;

import dev.holdfast.LogThrottle;
import dev.holdfast.Refusal;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.SessionKey;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What other nodes have for the backend of a session here, and the notifications that arrive on this one: each thing after what came
 * before it. Answers wait for answers alone, as a backend that has asked may take nothing else before it has its answer. What opens
 * a backend where none is there is for an epoch, the one that has the backend; an epoch that the session here does not have was left
 * behind, and is fenced, so that another one can have it. Safe for use by any thread.
 */
final class BackendMessages {
    private static final Logger logger = LoggerFactory.getLogger(BackendMessages.class);

    private static final int MOST_LINES = 10;

    private final LogThrottle dropped = new LogThrottle(MOST_LINES, System::nanoTime);
    private final NodeStore store;
    private final ForwardedCalls calls;
    private final JournalVersions versions;
    private final SessionTasks tasks;
    private final SessionTasks answers;

    /**
     * @param blocking does something where it may block
     */
    BackendMessages(NodeStore store, ForwardedCalls calls, JournalVersions versions, Executor blocking) {
        this.store = store;
        this.calls = calls;
        this.versions = versions;
        this.tasks = new SessionTasks(blocking);
        this.answers = new SessionTasks(blocking);
    }

    /** Whether a message has not come before. */
    boolean comesFirst(NodeMessage message) {
        return !(message instanceof NodeMessage.Forwarded call) || calls.comesFirst(call);
    }

    /**
     * Lets the backend have it; it may do much on the thread that tells it something.
     *
     * @param bytes how large it is
     */
    void heard(LiveSession session, NodeMessage message, long bytes) {
        if (message instanceof NodeMessage.Cancelled cancelled) {
            // before a call from here is said to be taken by the node that has the backend
            session.replica().cancelOnItsWay(cancelled.cancellation());
        }
        SessionTasks way = message instanceof NodeMessage.Answered ? answers : tasks;
        if (!way.add(session, bytes, () -> ready(session, message), () -> hears(session, message))) {
            dropped.write(more ->
                    logger.warn("session {}: what another node has sent is dropped{}", session.shortId(), more));
            notTaken(message);
        }
    }

    /** Lets the only backend, which is here, hear a notification that has arrived on this node; refuses it where too much waits. */
    CompletionStage<Optional<Refusal>> notify(LiveSession session, InboundMessage notification) {
        return notify(session, () -> versions.catchUpIfPossible(session), notification);
    }

    /**
     * The same where each node has a backend of its own. Where nothing waits it hears that at once, unless another node may have
     * initialized the session: then that is read first.
     */
    CompletionStage<Optional<Refusal>> notifyOwn(LiveSession session, InboundMessage notification) {
        return session.revision().isEmpty() || tasks.busy(session)
                ? notify(session, () -> versions.learnRevision(session), notification)
                : session.notify(notification);
    }

    /**
     * Lets the backend hear it after what came before.
     *
     * @param ready completes when it may hear it; where that fails it does not
     */
    private CompletionStage<Optional<Refusal>> notify(
            LiveSession session, Supplier<CompletionStage<Void>> ready, InboundMessage notification) {
        CompletableFuture<Optional<Refusal>> taken = new CompletableFuture<>();
        boolean waits = tasks.add(
                session,
                notification.bytes().length,
                () -> StoreQuestion.ask(ready).handle((done, failure) -> fail(taken, failure)),
                () -> hears(session, notification, taken));
        return waits ? taken : CompletableFuture.completedFuture(Optional.of(Refusal.BACKEND));
    }

    private static void hears(
            LiveSession session, InboundMessage notification, CompletableFuture<Optional<Refusal>> taken) {
        if (!taken.isDone()) {
            StoreQuestion.asked(() -> session.notify(notification)).whenComplete((refusal, failure) -> {
                if (!fail(taken, failure)) {
                    taken.complete(refusal);
                }
            });
        }
    }

    private static boolean fail(CompletableFuture<Optional<Refusal>> taken, @Nullable Throwable failure) {
        return failure != null && taken.completeExceptionally(failure);
    }

    /** There is no such session in memory here, it does not have the epoch, or too much waits for it. */
    void notTaken(NodeMessage message) {
        host(message).filter(epoch -> !has(message.key(), epoch)).ifPresent(epoch -> {
            CompletionStage<Boolean> unused = StoreQuestion.ask(() -> store.fence(message.key(), epoch));
        });
        if (message instanceof NodeMessage.Forwarded call) {
            calls.decline(call);
        }
    }

    /** The epoch that a message is for, if it is for one. */
    private static Optional<Epoch> host(NodeMessage message) {
        if (message instanceof NodeMessage.Forwarded call) {
            return Optional.of(call.host());
        }
        return message instanceof NodeMessage.Notified notified ? Optional.of(notified.host()) : Optional.empty();
    }

    private boolean has(SessionKey key, Epoch epoch) {
        return store.membership(key).filter(own -> own.epochs.contains(epoch)).isPresent();
    }

    /** A notification comes behind what was put into the journal before it. */
    private CompletionStage<Void> ready(LiveSession session, NodeMessage message) {
        return message instanceof NodeMessage.Notified ? versions.catchUpIfPossible(session) : SessionTasks.DONE;
    }

    private void hears(LiveSession session, NodeMessage message) {
        if (host(message).filter(epoch -> !has(session.key(), epoch)).isPresent()) {
            notTaken(message);
        } else if (message instanceof NodeMessage.Answered answered) {
            CompletionStage<Boolean> unused = session.answer(answered.answer());
        } else if (message instanceof NodeMessage.Cancelled cancelled) {
            session.cancel(cancelled.cancellation());
        } else if (message instanceof NodeMessage.Journaled journaled) {
            CompletionStage<Void> unused = versions.heardOf(session, journaled.version());
        } else if (message instanceof NodeMessage.Notified notified) {
            CompletionStage<Optional<Refusal>> unused = session.notify(notified.notification());
        } else if (message instanceof NodeMessage.Forwarded call) {
            calls.run(session, call);
        }
    }
}
