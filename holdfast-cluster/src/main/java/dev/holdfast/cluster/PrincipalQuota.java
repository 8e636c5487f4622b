package dev.holdfast.cluster;

import dev.holdfast.log.StoreQuestion;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.spi.SessionKey;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How many sessions a principal may have in the whole cluster. If there are as many, one of them ends: first one that waits in the store
 * for its client and would not be kept much longer, then one of this node that nobody uses. While the store does not answer, nobody is
 * refused here, and the limit of the node holds. Safe for use by any thread.
 */
final class PrincipalQuota {
    /** So many sessions may go for one: others may be quicker. */
    private static final int ATTEMPTS = 4;

    private static final long LATELY_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int MOST_REMEMBERED = 1_024;

    private static final CompletionStage<Boolean> ROOM = CompletableFuture.completedFuture(true);
    private static final CompletionStage<Boolean> NONE = CompletableFuture.completedFuture(false);
    private static final Logger logger = LoggerFactory.getLogger(PrincipalQuota.class);

    private final ClusterWriter store;
    private final int most;
    private final LongSupplier clock;
    private final ClusterMembership.Host engine;
    /** Who was refused, and when. */
    private final Map<String, Long> refused = new ConcurrentHashMap<>();

    PrincipalQuota(ClusterWriter store, ClusterMembership.Host engine) {
        this.store = store;
        this.engine = engine;
        this.most = engine.setting().principalSessions();
        this.clock = engine.setting().clock();
    }

    /** Whether a session of this principal was refused a moment ago: it would be in vain to open a backend for another one. */
    boolean refusedLately(String principal) {
        Long when = refused.get(principal);
        return when != null && clock.getAsLong() - when < LATELY_NANOS;
    }

    /**
     * Lets a session count among those of its principal.
     *
     * @param until as long as its record is kept, in milliseconds since 1970
     * @return completes with whether there is room for it; never fails
     */
    CompletionStage<Boolean> take(String principal, SessionKey key, long until) {
        if (principal.isEmpty()) {
            return ROOM;
        }
        return StoreQuestion.ask(() -> take(principal, key, until, 1)).handle((room, failure) -> {
            if (failure != null) {
                logger.debug("nobody knows how many sessions a principal has", failure);
            }
            boolean has = failure != null || room;
            if (!has) {
                remember(principal);
            }
            return has;
        });
    }

    /** A session for which room was to be taken was not opened. */
    void leave(String principal, SessionKey key) {
        CompletionStage<Void> unused = store.uncount(principal, key);
    }

    private CompletionStage<Boolean> take(String principal, SessionKey key, long until, int attempt) {
        return store.count(principal, key, until, most).thenCompose(counted -> {
            if (counted.counts()) {
                return ROOM;
            }
            return attempt == ATTEMPTS
                    ? NONE
                    : makeRoom(principal, counted.first())
                            .thenCompose(made -> made ? take(principal, key, until, attempt + 1) : NONE);
        });
    }

    private CompletionStage<Boolean> makeRoom(String principal, List<SessionKey> first) {
        CompletionStage<Boolean> room = NONE;
        for (SessionKey session : first) {
            room = room.thenCompose(made -> made ? ROOM : store.endWaiting(session));
        }
        return room.thenCompose(made -> made ? ROOM : evict(principal));
    }

    /** One that was on its way into the store waits there now. */
    private CompletionStage<Boolean> evict(String principal) {
        return engine.endOne(principal)
                .thenCompose(session -> session.isEmpty()
                        ? NONE
                        : store.endWaiting(session.get()).thenApply(ended -> true));
    }

    private void remember(String principal) {
        if (refused.size() >= MOST_REMEMBERED) {
            refused.values().removeIf(when -> clock.getAsLong() - when >= LATELY_NANOS);
        }
        if (refused.size() < MOST_REMEMBERED) {
            refused.put(principal, clock.getAsLong());
        }
    }
}
