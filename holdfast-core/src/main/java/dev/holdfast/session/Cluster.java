package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.SessionState;
import dev.holdfast.log.BatchWriter;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.Step;
import dev.holdfast.log.Streams;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.TooLargeException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * What it means for the sessions here that other nodes may have them too. Each default is what a node does that is alone. Safe for use
 * by any thread; what answers at once is called under a session's lock too.
 */
public interface Cluster {
    /** The store as the sessions of this node use it. */
    SessionStore store();

    /** The way of one session's batches into the store. */
    BatchWriter writer();

    /** Whether this node may write to the store. */
    default boolean mayWrite() {
        return true;
    }

    /** Lets the store forget a session whose time is over here; completes with false where another node may have used it later. */
    default CompletionStage<Boolean> expire(SessionKey key, Epoch last) {
        return store().delete(key, last);
    }

    /** Whether any node may bring back a session that waits in the store, and the store ends it in time. */
    default boolean anyNodeRestores() {
        return false;
    }

    /** Whether another node may have the only backend of a session that is here. */
    default boolean backendMayBeElsewhere() {
        return false;
    }

    /** Completes with whether the backend of a session in memory may be opened here; fails where nobody knows. */
    default CompletionStage<Boolean> mayOpenBackend(SessionKey key) {
        return CompletableFuture.completedFuture(true);
    }

    /**
     * Completes when a session in memory, and its backend, have what other nodes have put into its journal, as far as commits here have
     * told of it; fails where that can never be read, or not before this node may write no more.
     */
    default CompletionStage<Void> journalReached(SessionKey key) {
        return SessionLog.DONE;
    }

    /**
     * Completes when every other node that has a session knows of what this one has put into its journal, or can commit nothing of the
     * session any more.
     */
    default CompletionStage<Void> journalTold(SessionKey key) {
        return SessionLog.DONE;
    }

    /** Completes with whether another node may have a session too; never fails. */
    default CompletionStage<Boolean> isShared(SessionKey key) {
        return CompletableFuture.completedFuture(false);
    }

    /** Completes with the record of a session that its client has not initialized here, if it has done so on another node. */
    default CompletionStage<Optional<SessionRecord>> initializedElsewhere(SessionKey key) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    /** In which state a session comes back from the store: whether its client reads it somewhere else is not known here. */
    default SessionState restoredState() {
        return SessionState.DETACHED;
    }

    /** The counter of the epoch in which the present life of a session began. */
    default int born(RecordState.Seed seed) {
        return seed.epoch().counter();
    }

    /** Whether a session in this state may leave memory when it was not used for long. */
    default boolean mayPark(SessionState state) {
        return state == SessionState.DETACHED;
    }

    /** A session leaves memory for the store. */
    default void parting(Streams streams, Step step) {}

    /** Whether a client may read the listening stream on another node, which knows nothing of what is not in the store. */
    default boolean mayBeReadElsewhere() {
        return false;
    }

    /** The backend has withdrawn these questions. */
    default void withdrawn(List<KeptEvent> questions, Streams streams, Step step) {}

    /**
     * Whether an end is one for every node: its client wants the session no more, or nobody can bring it back.
     *
     * @param listensOnly whether its client has one connection only
     */
    default boolean endsEverywhere(EndReason why, boolean listensOnly) {
        return why == EndReason.TERMINATED || why == EndReason.RESTORE_FAILED || why == EndReason.DISCONNECTED;
    }

    /** Whether a session that has ended so can be found in the store again. */
    default boolean leavesToStore(EndReason why, boolean listensOnly) {
        return why == EndReason.PARKED || why == EndReason.TAKEN_OVER;
    }

    /** Why the store does not have a session any more that had not expired. */
    default EndReason missing() {
        return EndReason.STORE_FAILED;
    }

    /** Whether a failure is what a store that works says of one session. */
    default boolean saidByStore(Throwable failure) {
        return failure instanceof TooLargeException;
    }

    /** Whether a commit that fails is repeated until the store has decided it, and the sessions hear from here when that takes long. */
    default boolean repeatsCommits() {
        return false;
    }
}
