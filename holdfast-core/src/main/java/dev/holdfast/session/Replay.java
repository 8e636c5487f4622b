package dev.holdfast.session;

import dev.holdfast.log.SessionLog;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Brings a fresh backend to the state of the one it replaces. The answers are checked, then discarded. */
final class Replay {
    private static final Logger logger = LoggerFactory.getLogger(Replay.class);

    private final String sessionId;

    Replay(String sessionId) {
        this.sessionId = sessionId;
    }

    /** Sends these messages in order; completes when every request has its answer, fails if one is refused. */
    CompletionStage<Void> send(List<InboundMessage> messages, BackendConnection fresh) {
        CompletionStage<Void> answers = SessionLog.DONE;
        try {
            for (InboundMessage message : messages) {
                if (message.kind() == InboundMessage.Kind.REQUEST) {
                    Answer answer = new Answer(message.method());
                    fresh.call(message, answer);
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
