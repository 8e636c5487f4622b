package dev.holdfast;

import dev.holdfast.SessionEngine.Finding;
import dev.holdfast.SessionEngine.Found;
import dev.holdfast.SessionEngine.Missing;
import dev.holdfast.SessionEngine.Unavailable;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.UnreadableSessionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The way of a session from the store back into memory. */
final class Return {
    private static final int READ_BYTES = 1 << 20;
    private static final CompletionStage<Finding> MISSING = CompletableFuture.completedFuture(new Missing());
    private static final CompletionStage<Boolean> WHOLE = CompletableFuture.completedFuture(true);
    private static final CompletionStage<Boolean> GONE = CompletableFuture.completedFuture(false);

    private final SessionEngine engine;

    Return(SessionEngine engine) {
        this.engine = engine;
    }

    /**
     * Claims a session and reads what is kept of it; missing where the store does not have it.
     *
     * @param turnedAway gets how long the session still has, if it finds no place
     */
    CompletionStage<Finding> claim(SessionKey key, String id, String principal, Consumer<Duration> turnedAway) {
        return fromStore(() -> engine.store().claim(key, engine.random().nextInt()))
                .thenCompose(claim -> claim.isEmpty() ? MISSING : bring(key, id, principal, claim.get(), turnedAway));
    }

    private CompletionStage<Finding> bring(
            SessionKey key, String id, String principal, SessionStore.Claim claim, Consumer<Duration> turnedAway) {
        Origin origin = UnreadableException.read(() -> Origin.kept(claim));
        if (origin.lifetime().grace().isZero()) {
            // its connection broke when its process ended
            return fromStore(() -> engine.store().delete(key)).thenCompose(done -> MISSING);
        }
        Optional<Refusal> refusal = engine.opener().enter(principal);
        if (refusal.isPresent()) {
            turnedAway.accept(Duration.ofMillis(
                    claim.record().expiresAt() - engine.expiryClock().millis()));
            return CompletableFuture.completedFuture(new Unavailable(refusal.get()));
        }
        LiveSession session = new LiveSession(engine, principal, origin);
        Map<StreamId, List<Event>> events = new LinkedHashMap<>();
        return read(key, claim, events)
                .thenApply(whole -> whole && lives(claim) ? admit(session, id, claim, events) : new Missing())
                .whenComplete((finding, failure) -> {
                    if (failure != null || finding instanceof Missing) {
                        session.ending().abandon();
                    }
                });
    }

    /** Whether a session has not expired while it was read. */
    private boolean lives(SessionStore.Claim claim) {
        return engine.expiryClock().millis() < claim.record().expiresAt();
    }

    /** A question to the store: what it throws and how it fails are one. */
    static <T> CompletionStage<T> fromStore(Supplier<CompletionStage<T>> question) {
        CompletionStage<T> answer;
        try {
            answer = question.get();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(failed(e));
        }
        return answer.handle((value, failure) -> {
            if (failure != null) {
                throw failed(failure instanceof CompletionException wrapped ? wrapped.getCause() : failure);
            }
            return value;
        });
    }

    private static RuntimeException failed(@Nullable Throwable cause) {
        return cause instanceof UnreadableSessionException lost
                ? new UnreadableException(lost)
                : new StoreUnavailableException(cause);
    }

    /** Reads all that is kept of each stream; false if the store has let the session go meanwhile. */
    private CompletionStage<Boolean> read(SessionKey key, SessionStore.Claim claim, Map<StreamId, List<Event>> into) {
        CompletionStage<Boolean> all = WHOLE;
        for (Map.Entry<StreamId, SessionStore.Extent> stream : claim.streams().entrySet()) {
            List<Event> events = new ArrayList<>();
            into.put(stream.getKey(), events);
            all = all.thenCompose(whole -> whole ? read(key, stream.getKey(), 0, stream.getValue(), events) : GONE);
        }
        return all;
    }

    /** Nobody appends or trims after the claim: the last event is there, unless it was trimmed, or nothing is. */
    private CompletionStage<Boolean> read(
            SessionKey key, StreamId stream, long after, SessionStore.Extent extent, List<Event> events) {
        if (after >= extent.last()) {
            return WHOLE;
        }
        return fromStore(() -> engine.store().read(key, stream, after, READ_BYTES))
                .thenCompose(more -> {
                    events.addAll(more);
                    if (more.isEmpty()) {
                        return extent.trimmed() < extent.last() ? GONE : WHOLE;
                    }
                    return read(key, stream, more.get(more.size() - 1).offset(), extent, events);
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
