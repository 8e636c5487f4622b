package dev.holdfast.micrometer;

import dev.holdfast.micrometer.StoreTimers.Operation;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.ClusterSupport;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** A store whose work is measured. Every method of {@link SessionStore} is here, those with a default too. */
record TimedStore(SessionStore store, StoreTimers timers) implements SessionStore {
    @Override
    public Promise promise() {
        return store.promise();
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        return timers.time(Operation.CREATE, () -> store.create(key, epoch, record));
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return timers.time(Operation.CLAIM, () -> store.claim(key, nonce));
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return timers.time(Operation.LOOK, () -> store.look(key));
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        return timers.time(Operation.APPEND, () -> store.append(key, epoch, append));
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return timers.time(Operation.READ, () -> store.read(key, stream, after, maxBytes));
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        return timers.time(Operation.DELETE, () -> store.delete(key));
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return timers.time(Operation.DELETE, () -> store.delete(key, epoch));
    }

    @Override
    public Optional<InstantSource> clock() {
        return store.clock();
    }

    @Override
    public Optional<ClusterSupport> cluster() {
        return store.cluster();
    }

    @Override
    public Optional<String> trouble() {
        return store.trouble();
    }

    @Override
    public void close() {
        store.close();
    }
}
