package dev.holdfast;

import dev.holdfast.SessionEngine.Finding;
import dev.holdfast.SessionEngine.Found;
import dev.holdfast.SessionEngine.Missing;
import dev.holdfast.SessionEngine.Unavailable;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/** The way of a session from the store back into memory. */
final class Return {
    private static final int READ_BYTES = 1 << 20;
    private static final CompletionStage<Finding> MISSING = CompletableFuture.completedFuture(new Missing());

    private final SessionEngine engine;

    Return(SessionEngine engine) {
        this.engine = engine;
    }

    /** Claims a session and reads what is kept of it; missing where the store does not have it. */
    CompletionStage<Finding> claim(SessionKey key, String id, String principal) {
        return fromStore(() -> engine.store().claim(key, engine.random().nextInt()))
                .thenCompose(claim -> claim.isEmpty() ? MISSING : bring(key, id, principal, claim.get()));
    }

    private CompletionStage<Finding> bring(SessionKey key, String id, String principal, SessionStore.Claim claim) {
        Origin origin = Origin.kept(claim);
        if (origin.lifetime().grace().isZero()) {
            // its connection broke when its process ended
            return fromStore(() -> engine.store().delete(key)).thenCompose(done -> MISSING);
        }
        Optional<Refusal> refusal = engine.opener().enter(principal);
        if (refusal.isPresent()) {
            return CompletableFuture.completedFuture(new Unavailable(refusal.get()));
        }
        LiveSession session = new LiveSession(engine, principal, origin);
        return read(key, claim)
                .thenApply(events -> admit(session, id, claim, events))
                .whenComplete((finding, failure) -> {
                    if (failure != null) {
                        session.ending().abandon();
                    }
                });
    }

    /** A question to the store: what it throws and how it fails are one. */
    static <T> CompletionStage<T> fromStore(Supplier<CompletionStage<T>> question) {
        CompletionStage<T> answer;
        try {
            answer = question.get();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(new StoreUnavailableException(e));
        }
        return answer.handle((value, failure) -> {
            if (failure != null) {
                throw new StoreUnavailableException(
                        failure instanceof CompletionException wrapped ? wrapped.getCause() : failure);
            }
            return value;
        });
    }

    private CompletionStage<Map<StreamId, List<Event>>> read(SessionKey key, SessionStore.Claim claim) {
        Map<StreamId, List<Event>> all = new LinkedHashMap<>();
        CompletionStage<Void> before = SessionLog.DONE;
        for (StreamId stream : claim.streams().keySet()) {
            List<Event> events = new ArrayList<>();
            all.put(stream, events);
            before = before.thenCompose(done -> read(key, stream, 0, events));
        }
        return before.thenApply(done -> all);
    }

    private CompletionStage<Void> read(SessionKey key, StreamId stream, long after, List<Event> events) {
        return fromStore(() -> engine.store().read(key, stream, after, READ_BYTES))
                .thenCompose(more -> {
                    events.addAll(more);
                    return more.isEmpty()
                            ? SessionLog.DONE
                            : read(key, stream, more.get(more.size() - 1).offset(), events);
                });
    }

    private Finding admit(LiveSession session, String id, SessionStore.Claim claim, Map<StreamId, List<Event>> events) {
        session.revive(id, claim, events);
        engine.history().makeRoom();
        if (engine.draining()) {
            session.ending().drain();
            return new Unavailable(Refusal.DRAINING);
        }
        return new Found(session);
    }
}
