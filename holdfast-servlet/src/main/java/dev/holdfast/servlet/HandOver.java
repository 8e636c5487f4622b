package dev.holdfast.servlet;

import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.json.Envelope;
import dev.holdfast.servlet.io.HeldInterrupt;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Hands notifications and answers to a session. */
final class HandOver {
    private static final Logger log = LoggerFactory.getLogger(HandOver.class);
    private static final String CANCELLED = "notifications/cancelled";
    private static final CompletionStage<Boolean> NOBODY_ASKED = CompletableFuture.completedFuture(false);
    private static final CompletionStage<Optional<Refusal>> TAKEN = CompletableFuture.completedFuture(Optional.empty());

    private HandOver() {}

    /** Completes when all are handed over, with the reason why the first refused one was refused; empty if none was. */
    static CompletionStage<Optional<Refusal>> all(Session session, List<Envelope> messages, Object context) {
        CompletionStage<Optional<Refusal>> all = TAKEN;
        try {
            for (Envelope message : messages) {
                CompletionStage<Optional<Refusal>> taken = one(session, message, context);
                all = all == TAKEN ? taken : all.thenCombine(taken, (before, now) -> before.isPresent() ? before : now);
            }
        } finally {
            // what waited for an answer may have gone on here
            HeldInterrupt.forget();
        }
        return all;
    }

    private static CompletionStage<Optional<Refusal>> one(Session session, Envelope message, Object context) {
        if (message.kind() != Envelope.Kind.NOTIFICATION) {
            // an error without an id answers nobody's question
            CompletionStage<Boolean> awaited =
                    message.id().isEmpty() ? NOBODY_ASKED : session.answer(message.inbound(context));
            return awaited.thenApply(taken -> {
                if (!taken) {
                    log.debug("session {}: an answer that nobody waits for was dropped", session.shortId());
                }
                return Optional.empty();
            });
        }
        if (message.method().equals(CANCELLED)) {
            return message.cancelledRequest()
                    .map(id ->
                            session.cancel(id, message.inbound(context)).thenApply(done -> Optional.<Refusal>empty()))
                    .orElse(TAKEN);
        }
        return session.notify(message.inbound(context));
    }
}
