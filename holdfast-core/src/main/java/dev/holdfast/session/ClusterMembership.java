package dev.holdfast.session;

import dev.holdfast.Session;
import dev.holdfast.log.BatchWriter;
import dev.holdfast.log.SessionLog;
import dev.holdfast.spi.ClusterSupport;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/** A node among others that share its store, as its engine sees it. Each default is what a node does that is {@linkplain #alone alone}. */
public interface ClusterMembership extends Cluster {
    /** How an engine becomes one of the nodes that share a store; the store has it, and hands it to the engine. */
    interface Support extends ClusterSupport {
        /** Makes an engine one of the nodes. */
        ClusterMembership join(Host engine);
    }

    /**
     * The knobs, and what belongs to the engine.
     *
     * @param name the beginning of the names of this node's incarnations
     * @param lease how long other nodes wait for one that is silent
     * @param principalSessions how many sessions one principal may have on all nodes together
     * @param clock the monotonic clock, in nanoseconds
     */
    record Setting(
            String name,
            Duration lease,
            int principalSessions,
            LongSupplier clock,
            ScheduledExecutorService scheduler,
            RandomGenerator random) {}

    /** What it needs of the engine of its node. Safe for use by any thread. */
    interface Host {
        Setting setting();

        /** The sessions in memory. */
        Iterable<LiveSession> sessions();

        /** A session in memory. */
        Optional<LiveSession> session(SessionKey key);

        /** Whether the store has answered. */
        void storeWorks(boolean works);

        /** Whether the store has answered what it was asked last. */
        boolean storeWorks();

        /** Whether a session has one backend in the whole cluster. */
        boolean backendExistsOnce();

        /** Ends a session of a principal that nobody uses on this node; completes with its name when it is gone, empty if there is none. */
        CompletionStage<Optional<SessionKey>> endOne(String principal);

        /** Does something elsewhere, where it may block; false if nobody does it. */
        boolean elsewhere(Runnable task);

        /** Does something later, on the scheduler. */
        void later(Runnable task, long millis);

        /** Whether connections are sent to the successor of this server. */
        boolean handingOver();
    }

    /** No other node. */
    static ClusterMembership alone(SessionStore store) {
        BatchWriter writer = BatchWriter.into(store);
        return new ClusterMembership() {
            @Override
            public SessionStore store() {
                return store;
            }

            @Override
            public BatchWriter writer() {
                return writer;
            }
        };
    }

    /** Begins to be one of the nodes. */
    default void start() {}

    /** Is none of the nodes any more; completes when the others know. */
    default CompletionStage<Void> leave() {
        return SessionLog.DONE;
    }

    /** A session as those who talk to its client use it. */
    default Session view(LiveSession session) {
        return session;
    }

    /** Whether a session of this principal was refused a moment ago, because it has too many on all nodes together. */
    default boolean refusedLately(String principal) {
        return false;
    }

    /** Lets a session count among those of its principal; completes with whether there is room for it on all nodes together. */
    default CompletionStage<Boolean> takeRoom(LiveSession session) {
        return CompletableFuture.completedFuture(true);
    }

    /** A session for which room was to be taken was not opened. */
    default void leaveRoom(LiveSession session) {}

    /** Whether this node still has the right under which it has created or joined a session. */
    default boolean holds(SessionKey key) {
        return true;
    }

    /** A session has left memory. */
    default void left(SessionKey key) {}
}
