package dev.holdfast.spi;

import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Keeps session records and their events together: they live and die as one. Every method may be called from any thread and
 * must not block; a stage that fails says that the store could not do it, or does not know whether it did. What a failed stage
 * has left behind is whole or not there at all.
 *
 * <p>A session whose {@link SessionRecord#expiresAt} has passed is not there, whoever asks, and the store gives its space back
 * in a time of its own, also when nobody runs who knew the session. What has passed is told by an {@link ExpiryClock}, which no
 * step of the wall clock puts ahead.
 *
 * <p>What meets something of its session that can never be read again fails with an {@link UnreadableSessionException}: the
 * session is lost then, and no other. Whoever gets it deletes the session, which works all the same.
 *
 * <p>What the store never takes for its size fails with a {@link TooLargeException}, and leaves nothing: who has given it goes on
 * without it.
 *
 * <p>A stream is known from its first event on: the listening stream for the session's life, another one while it has events
 * or its call runs. Events are trimmed one by one, anywhere in a stream.
 *
 * <p>An event that a store has lost though nobody has trimmed it, as by an eviction, counts as trimmed, so that nothing is passed over
 * that is not kept.
 *
 * <p>The first sentence of each method is its contract; {@code holdfast-store-tck} holds a store to it.
 */
public interface SessionStore extends AutoCloseable {
    /** How many epochs before the present one a claim tells of. */
    int EPOCHS_KEPT = 64;

    /**
     * How many offsets a stream leaves out when it goes on after the store may have lost its last events. That is more than a client can
     * have seen of the lost ones, so that no offset is given twice.
     */
    long LEFT_OUT = 1 << 20;

    /** Says what a completed append survives, and whether several nodes can share this store. */
    Promise promise();

    /** Creates a session under its first epoch; fails with an {@link IllegalStateException} if the key exists. */
    CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record);

    /**
     * Takes a session over: counts its next epoch, fences every earlier one, and returns what is kept; empty where no such
     * session exists. A claim whose answer was lost is simply claimed again.
     *
     * @param nonce the random half of the next epoch, drawn for this claim
     */
    CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce);

    /**
     * Looks at a session and changes nothing: its epoch stays the present one, and whoever has it goes on; empty where no such
     * session exists.
     */
    CompletionStage<Optional<Look>> look(SessionKey key);

    /**
     * Appends all of it or nothing, in the order of the calls. Fails with a {@link StaleEpochException} under any epoch but the
     * present one, and with an {@link IllegalStateException} for a session that is not there.
     */
    CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append);

    /**
     * Returns the kept events of a stream after an offset, in order, at least one if there is one, and no more than fit into
     * {@code maxBytes} beyond that; none for a session that is not there.
     */
    CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes);

    /** Removes a session and all its events, those that cannot be read too; no error where there is none. */
    CompletionStage<Void> delete(SessionKey key);

    /**
     * Removes a session, as the other does, unless another epoch than this one is its present one; then it stays as it is.
     *
     * @return whether it is not there now; false where it stays
     */
    CompletionStage<Boolean> delete(SessionKey key, Epoch epoch);

    /**
     * Why the store cannot be used now, as far as it knows without asking; empty where nothing is known to be wrong. For health and for
     * people: in words that name no secret. Any thread may ask, at any time. By default empty.
     */
    default Optional<String> trouble() {
        return Optional.empty();
    }

    /**
     * The time by which sessions expire here, the same on each node; empty where that is the wall clock of the machine. Records of
     * sessions are dated by it: the clock of a node's machine may be far off. By default empty.
     */
    default Optional<InstantSource> clock() {
        return Optional.empty();
    }

    /** What makes an engine one of the nodes that share this store; empty where one node at a time uses a session. By default empty. */
    default Optional<ClusterSupport> cluster() {
        return Optional.empty();
    }

    /** Releases what the store holds; completed appends keep their promise. Called by whoever made the store. */
    @Override
    void close();

    /**
     * What a store survives.
     *
     * @param durability what a completed append survives
     * @param shared whether several nodes can use it at once
     * @param keeps whether it keeps what is appended; where not, an engine asks it for nothing that was, and appends nothing
     */
    record Promise(Durability durability, boolean shared, boolean keeps) {
        public Promise {
            if (!keeps && (shared || durability != Durability.NOTHING)) {
                throw new IllegalArgumentException(
                        "a store that keeps nothing survives nothing and is not shared, not " + durability);
            }
        }

        /** The promise of a store that keeps what is appended. */
        public Promise(Durability durability, boolean shared) {
            this(durability, shared, true);
        }
    }

    /** What a completed append survives. */
    enum Durability {
        NOTHING,
        PROCESS_DEATH,
        POWER_LOSS
    }

    /**
     * A claimed session.
     *
     * @param epoch the epoch that it is owned under from now on
     * @param before the epochs that it had, oldest first, at least the latest {@link #EPOCHS_KEPT}
     * @param record its record
     * @param streams every stream that is known
     * @param certainFrom the counter of the epoch since which surely nothing was lost that had been acknowledged; 1 where
     *     nothing ever was. A store that ends in a way it does not promise to survive, and cannot tell what it has lost, names
     *     the epoch of the session's first claim after that end, in this claim and in all that follow
     */
    record Claim(
            Epoch epoch, List<Epoch> before, SessionRecord record, Map<StreamId, Extent> streams, int certainFrom) {
        /** The last offset that a stream ever had; 0 for one that is not known. */
        public long last(StreamId stream) {
            Extent extent = streams.get(stream);
            return extent == null ? 0 : extent.last();
        }
    }

    /**
     * A session as it is.
     *
     * @param epoch its present epoch
     * @param record its record
     * @param streams every stream that is known
     * @param certainFrom as in {@link Claim}; nodes learn here of what their store may have lost since they have joined
     */
    record Look(Epoch epoch, SessionRecord record, Map<StreamId, Extent> streams, int certainFrom) {}

    /**
     * How far a stream goes.
     *
     * @param last the last offset that it ever had
     * @param trimmed the highest offset that was ever trimmed from it, or that the store has lost, 0 if none was: a cursor below it
     *     has missed something
     * @param lost where nothing is kept of the stream of a call that has ended: the requests whose responses were lost, as far as the
     *     store knows them
     */
    record Extent(long last, long trimmed, List<RequestId> lost) {
        /** No response is known to be lost. */
        public Extent(long last, long trimmed) {
            this(last, trimmed, List.of());
        }

        /** Whether nothing is kept of what the stream had: where no call runs on it, its response is lost. */
        public boolean bare() {
            return trimmed >= last;
        }
    }
}
