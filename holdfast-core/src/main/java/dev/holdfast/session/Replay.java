package dev.holdfast.session;

import dev.holdfast.log.SessionLog;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Brings a fresh backend to the state of the one it replaces. The answers are checked, then discarded. */
final class Replay {
    private static final Logger logger = LoggerFactory.getLogger(Replay.class);
    /** So many requests are on their way at once: a journal may have thousands. */
    private static final int MOST_AT_ONCE = 100;

    private final String sessionId;

    Replay(String sessionId) {
        this.sessionId = sessionId;
    }

    /**
     * Sends these messages in order; completes when every request has its answer, fails if one is refused. They come from any time of the
     * session, and a client may use an id again: so of those with one id each waits for the answer to the one before.
     */
    CompletionStage<Void> send(List<InboundMessage> messages, BackendConnection fresh) {
        CompletionStage<Void> sent = SessionLog.DONE;
        for (List<InboundMessage> part : parts(messages)) {
            sent = sent.thenCompose(before -> together(part, fresh));
        }
        return sent;
    }

    /** What may be on its way at the same time. */
    private static List<List<InboundMessage>> parts(List<InboundMessage> messages) {
        List<List<InboundMessage>> parts = new ArrayList<>(1);
        Set<RequestId> ids = new HashSet<>();
        List<InboundMessage> part = new ArrayList<>();
        for (InboundMessage message : messages) {
            boolean request = message.kind() == InboundMessage.Kind.REQUEST;
            if (request && (ids.contains(message.requiredId()) || ids.size() == MOST_AT_ONCE)) {
                parts.add(part);
                part = new ArrayList<>();
                ids.clear();
            }
            if (request) {
                ids.add(message.requiredId());
            }
            part.add(message);
        }
        parts.add(part);
        return parts;
    }

    private CompletionStage<Void> together(List<InboundMessage> messages, BackendConnection fresh) {
        CompletionStage<Void> answers = SessionLog.DONE;
        try {
            for (InboundMessage message : messages) {
                if (message.kind() == InboundMessage.Kind.REQUEST) {
                    Answer answer = new Answer(message.method());
                    fresh.replay(message, answer);
                    answers = answers.thenCompose(before -> answer.arrived);
                } else {
                    fresh.notify(message);
                }
            }
            return answers;
        } catch (Throwable e) {
            logger.error("a backend failed on the journal of its session", e);
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Takes the answer to a replayed request, which only has to be none of refusal. */
    private final class Answer implements CallSink {
        private final String method;
        private final CompletableFuture<Void> arrived = new CompletableFuture<>();

        private Answer(String method) {
            this.method = method;
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            if (message.kind() == EventKind.RESPONSE) {
                arrived.complete(null);
            } else if (message.kind() == EventKind.ERROR) {
                arrived.completeExceptionally(new IllegalStateException(method + " was refused"));
            }
            return SessionLog.DONE;
        }

        @Override
        public void onCancel(CancelHook hook) {}

        @Override
        public void disconnect(Duration retry) {}

        @Override
        public String sessionId() {
            return sessionId;
        }
    }
}
