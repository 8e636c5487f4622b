package dev.holdfast.cluster;

import dev.holdfast.session.LiveSession;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What other nodes have for the backend of a session here: each thing after what came before it. Safe for use by any thread. */
final class BackendMessages {
    private static final Logger logger = LoggerFactory.getLogger(BackendMessages.class);

    private final ForwardedCalls calls;
    private final JournalVersions versions;
    private final SessionTasks tasks;

    /**
     * @param elsewhere does something where it may block; false if nobody does it
     */
    BackendMessages(ForwardedCalls calls, JournalVersions versions, Predicate<Runnable> elsewhere) {
        this.calls = calls;
        this.versions = versions;
        this.tasks = new SessionTasks(elsewhere);
    }

    /** Whether a message has not come before. */
    boolean comesFirst(NodeMessage message) {
        return !(message instanceof NodeMessage.Forwarded call) || calls.comesFirst(call);
    }

    /** Lets the backend have it; it may do much on the thread that tells it something. */
    void heard(LiveSession session, NodeMessage message) {
        if (!tasks.add(session, () -> hears(session, message))) {
            logger.warn("session {}: what another node has sent is dropped", session.shortId());
            notTaken(message);
        }
    }

    /** There is no such session in memory here, or too much waits for it. */
    void notTaken(NodeMessage message) {
        if (message instanceof NodeMessage.Forwarded call) {
            calls.decline(call);
        }
    }

    private void hears(LiveSession session, NodeMessage message) {
        if (message instanceof NodeMessage.Answered answered) {
            CompletionStage<Boolean> unused = session.answer(answered.answer());
        } else if (message instanceof NodeMessage.Cancelled cancelled) {
            CompletionStage<Void> unused = session.cancel(cancelled.request(), cancelled.notification());
        } else if (message instanceof NodeMessage.Journaled journaled) {
            CompletionStage<Void> unused = versions.reach(session, journaled.version());
        } else if (message instanceof NodeMessage.Notified notified) {
            versions.reached(session).thenAccept(done -> session.notify(notified.notification()));
        } else if (message instanceof NodeMessage.Forwarded call) {
            calls.run(session, call);
        }
    }
}
