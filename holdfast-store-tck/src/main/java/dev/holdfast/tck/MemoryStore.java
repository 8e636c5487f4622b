package dev.holdfast.tck;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.ExpiryClock;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Keeps sessions in this JVM's heap, beside what their engine has of them; they are lost with the process. For tests of what stands on
 * a store: an engine alone needs none. It is a {@link MemoryCluster} that nobody shares. Every stage is complete when it is returned.
 */
public final class MemoryStore implements SessionStore {
    private static final Promise PROMISE = new Promise(Durability.NOTHING, false);

    private final MemoryCluster sessions;

    /** Follows an {@link ExpiryClock} of the system's clocks. */
    public MemoryStore() {
        this(new ExpiryClock());
    }

    /** Follows a clock of the caller's, by which sessions expire. */
    public MemoryStore(InstantSource clock) {
        this.sessions = new MemoryCluster(clock, Runnable::run);
    }

    @Override
    public Promise promise() {
        return PROMISE;
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        return sessions.create(key, epoch, record);
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return sessions.claim(key, nonce);
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return sessions.look(key);
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        return sessions.append(key, epoch, append);
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return sessions.read(key, stream, after, maxBytes);
    }

    /** Loses the events of a session, and not its record, as a store may that evicts or is damaged. */
    public void loseEvents(SessionKey key) {
        sessions.loseEvents(key);
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        return sessions.delete(key);
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return sessions.delete(key, epoch);
    }

    @Override
    public void close() {
        sessions.close();
    }

    /** How many sessions take space. */
    int size() {
        return sessions.size();
    }
}
