package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * Fences epochs: those of nodes that are dead, and those that a join of this node has made whose answer was lost, so that nobody has
 * them. These are fenced when the session is joined again, or when this node is dead. Safe for use by any thread.
 */
final class EpochFences {
    /** Of more sessions the epochs wait for the end of this node. */
    private static final int MOST_LOST = 1_024;

    private final SharedSessionStore store;
    private final Set<SessionKey> lostJoins = ConcurrentHashMap.newKeySet();

    EpochFences(SharedSessionStore store) {
        this.store = store;
    }

    /** Fences all of these, whatever the store throws at one of them; fails if one could not be fenced. */
    CompletionStage<Void> fence(SessionKey key, Stream<Epoch> epochs) {
        return CompletableFuture.allOf(epochs.map(epoch -> StoreQuestion.asked(() -> store.fence(key, epoch)))
                .map(CompletionStage::toCompletableFuture)
                .toArray(CompletableFuture[]::new));
    }

    /** Fences those who have joined a session and are dead. */
    CompletionStage<Void> fenceDead(SessionKey key) {
        return store.members(key)
                .thenCompose(members -> members.size() < 2
                        ? CompletableFuture.completedFuture(null)
                        : store.bus()
                                .living()
                                .thenCompose(living -> fence(
                                        key,
                                        members.stream()
                                                .filter(one -> !living.contains(one.node()))
                                                .map(Member::epoch))));
    }

    /** The answer to a join was lost. */
    void joinLost(SessionKey key) {
        if (lostJoins.size() < MOST_LOST) {
            lostJoins.add(key);
        }
    }

    /** A session was joined: what this node has there beside it is fenced. */
    void joined(SessionKey key, Membership own) {
        if (lostJoins.remove(key)) {
            StoreQuestion.asked(() -> store.members(key))
                    .thenCompose(members -> fence(
                            key,
                            members.stream()
                                    .filter(one -> one.node().equals(own.node)
                                            && !own.has(one.epoch().counter()))
                                    .map(Member::epoch)))
                    .whenComplete((done, failure) -> {
                        if (failure != null) {
                            joinLost(key);
                        }
                    });
        }
    }
}
