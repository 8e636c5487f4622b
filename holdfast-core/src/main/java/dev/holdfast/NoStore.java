package dev.holdfast;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Keeps nothing: sessions live in the memory of their engine, and end with it. What was appended is committed at once, and nothing is
 * found. Every stage is complete when it is returned.
 */
public final class NoStore implements SessionStore {
    private static final Promise PROMISE = new Promise(Durability.NOTHING, false, false);
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    /** Has no options. */
    public NoStore() {}

    @Override
    public Promise promise() {
        return PROMISE;
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        return DONE;
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        return DONE;
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return CompletableFuture.completedFuture(List.of());
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        return DONE;
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return CompletableFuture.completedFuture(true);
    }

    @Override
    public void close() {}
}
