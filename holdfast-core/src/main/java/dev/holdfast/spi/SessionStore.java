package dev.holdfast.spi;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Keeps session records and their events together: they live and die as one. Every method may be called from any thread and
 * must not block; a stage that fails says that the store could not do it, or does not know whether it did.
 */
public interface SessionStore extends AutoCloseable {
    /** Says what a completed append survives, and whether several nodes can share this store. */
    Promise promise();

    /** Creates a session under its first epoch; fails with an {@link IllegalStateException} if the key exists. */
    CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record);

    /**
     * Fences every earlier epoch and returns what is kept: from here on only appends of {@code next} are taken. Empty where
     * no such session exists; fails with a {@link StaleEpochException} where {@code next} does not count higher than the
     * present epoch.
     */
    CompletionStage<Optional<Claim>> claim(SessionKey key, Epoch next);

    /**
     * Appends all of it or nothing, after every append of this session that completed before. Fails with a {@link
     * StaleEpochException} under a stale epoch, and for a session that is not there.
     */
    CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append);

    /**
     * Returns the kept events of a stream after an offset, in order, at least one if there is one, and no more than fit into
     * {@code maxBytes} beyond that; none for a session that is not there.
     */
    CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes);

    /** Removes a session and all its events; no error where there is none. */
    CompletionStage<Void> delete(SessionKey key);

    /** Releases what the store holds; completed appends keep their promise. Called by whoever made the store. */
    @Override
    void close();

    /**
     * What a store survives.
     *
     * @param durability what a completed append survives
     * @param shared whether several nodes can use it at once
     */
    record Promise(Durability durability, boolean shared) {}

    /** What a completed append survives. */
    enum Durability {
        NOTHING,
        PROCESS_DEATH,
        POWER_LOSS
    }

    /**
     * A claimed session.
     *
     * @param record its record
     * @param ends the last offset of every stream that has kept events
     */
    record Claim(SessionRecord record, Map<StreamId, Long> ends) {}
}
