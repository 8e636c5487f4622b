package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.spi.SessionKey;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Joins of this node whose answers were lost. The store may have made an epoch then that nobody has: it is fenced when the session is
 * joined again, or when this node is dead. Safe for use by any thread.
 */
final class LostJoins {
    /** Of more sessions the epochs wait for the end of this node. */
    private static final int MOST = 1_024;

    private final SharedSessionStore store;
    private final Fences fences;
    private final Set<SessionKey> lost = ConcurrentHashMap.newKeySet();

    LostJoins(SharedSessionStore store) {
        this.store = store;
        this.fences = new Fences(store);
    }

    /** The answer to a join was lost. */
    void lost(SessionKey key) {
        if (lost.size() < MOST) {
            lost.add(key);
        }
    }

    /** A session was joined: what this node has there beside it is fenced. */
    void joined(SessionKey key, Membership own) {
        if (lost.remove(key)) {
            StoreQuestion.asked(() -> store.members(key))
                    .thenCompose(members -> fences.all(
                            key,
                            members.stream()
                                    .filter(one -> one.node().equals(own.node)
                                            && !own.has(one.epoch().counter()))
                                    .map(Member::epoch)))
                    .whenComplete((done, failure) -> {
                        if (failure != null) {
                            lost(key);
                        }
                    });
        }
    }
}
