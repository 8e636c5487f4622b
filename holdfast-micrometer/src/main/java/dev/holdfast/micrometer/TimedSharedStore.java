package dev.holdfast.micrometer;

import dev.holdfast.cluster.ClusterBus;
import dev.holdfast.cluster.ClusterNodes;
import dev.holdfast.cluster.SharedSessionStore;
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

/**
 * A store that nodes share, whose work is measured. Every method of {@link SharedSessionStore} is here, those with a default too. A
 * join counts as a claim, a commit as an append, and to ask for the members as a look; the bus, and how
 * many sessions a principal has, are not measured.
 */
record TimedSharedStore(SharedSessionStore store, StoreTimers timers) implements SharedSessionStore {
    /** The same for one that nodes claim from each other, and do not join. */
    static SessionStore of(SessionStore store, StoreTimers timers) {
        return store instanceof SharedSessionStore shared
                ? new TimedSharedStore(shared, timers)
                : new TimedStore(store, timers);
    }

    @Override
    public Promise promise() {
        return store.promise();
    }

    @Override
    public Optional<InstantSource> clock() {
        return store.clock();
    }

    @Override
    public Optional<ClusterSupport> cluster() {
        return Optional.of(ClusterNodes.sharing(this));
    }

    @Override
    public ClusterBus bus() {
        return store.bus();
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record, String node) {
        return timers.time(Operation.CREATE, () -> store.create(key, epoch, record, node));
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
    public CompletionStage<Optional<Joined>> join(SessionKey key, int nonce, String node) {
        return timers.time(Operation.CLAIM, () -> store.join(key, nonce, node));
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return timers.time(Operation.LOOK, () -> store.look(key));
    }

    @Override
    public CompletionStage<List<Member>> members(SessionKey key) {
        return timers.time(Operation.LOOK, () -> store.members(key));
    }

    @Override
    public CompletionStage<Boolean> fence(SessionKey key, Epoch epoch) {
        return timers.time(Operation.FENCE, () -> store.fence(key, epoch));
    }

    @Override
    public CompletionStage<Appended> commit(SessionKey key, Epoch epoch, long number, Append append) {
        return timers.time(Operation.APPEND, () -> store.commit(key, epoch, number, append));
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        return timers.time(Operation.APPEND, () -> store.append(key, epoch, append));
    }

    @Override
    public CompletionStage<Long> token(
            SessionKey key, Epoch epoch, StreamId stream, Part part, long expected, long token) {
        return timers.time(Operation.TOKEN, () -> store.token(key, epoch, stream, part, expected, token));
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return timers.time(Operation.READ, () -> store.read(key, stream, after, maxBytes));
    }

    @Override
    public CompletionStage<Counted> count(String principal, SessionKey key, long until, int most) {
        return store.count(principal, key, until, most);
    }

    @Override
    public CompletionStage<Void> uncount(String principal, SessionKey key) {
        return store.uncount(principal, key);
    }

    @Override
    public Tail tail(SessionKey key, Runnable hinted) {
        return store.tail(key, hinted);
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
    public Optional<String> trouble() {
        return store.trouble();
    }

    @Override
    public void close() {
        store.close();
    }
}
