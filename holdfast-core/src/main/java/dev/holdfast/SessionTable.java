package dev.holdfast;

import dev.holdfast.SessionEngine.Finding;
import dev.holdfast.SessionEngine.Found;
import dev.holdfast.SessionEngine.Missing;
import dev.holdfast.SessionEngine.Unavailable;
import dev.holdfast.spi.SessionKey;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * The sessions that this engine answers for: those in memory, those it has parked, and those that are on their way between
 * memory and store. Of one session at most one is on its way, and everybody who asks for it meanwhile waits.
 *
 * <pre>
 *   opened --> LIVE --parked--> PARKED --found--> on its way --> LIVE
 *              LIVE --ended--> closed --the store has let it go--> gone
 *                               PARKED --deadline, terminated--> on its way --> gone
 *   of another process, in the store --found--> on its way --> LIVE
 * </pre>
 */
final class SessionTable {
    private static final CompletionStage<Finding> MISSING = CompletableFuture.completedFuture(new Missing());

    private final SessionEngine engine;
    private final Return back;
    /** Those that have ended stay here until the store has let them go, so that nobody brings them back. */
    private final Map<SessionKey, LiveSession> live = new ConcurrentHashMap<>();

    private final AtomicInteger open = new AtomicInteger();
    private final Map<SessionKey, Parked> parked = new ConcurrentHashMap<>();
    private final Map<SessionKey, CompletableFuture<Finding>> onTheWay = new ConcurrentHashMap<>();

    /**
     * A session that this engine has put away.
     *
     * @param deadline when it ends, in nanoseconds of the engine's clock
     */
    private record Parked(String id, long deadline) {}

    SessionTable(SessionEngine engine) {
        this.engine = engine;
        this.back = new Return(engine);
    }

    Collection<LiveSession> live() {
        return live.values();
    }

    /** How many are in memory and have not ended. */
    int size() {
        return open.get();
    }

    int parked() {
        return parked.size();
    }

    /** Lets a session in, unless its name is taken. */
    boolean add(LiveSession session) {
        boolean added = live.putIfAbsent(session.key(), session) == null;
        if (added) {
            open.incrementAndGet();
        }
        return added;
    }

    /** A session that was let in has closed. */
    void leaves() {
        open.decrementAndGet();
    }

    boolean has(SessionKey key) {
        return live.containsKey(key);
    }

    /** The store has let go of a session that has ended. */
    void remove(LiveSession session) {
        live.remove(session.key(), session);
    }

    /** A session has left memory, and waits in the store for this long. */
    void park(LiveSession session, long deadline) {
        parked.put(session.key(), new Parked(session.id(), deadline));
        remove(session);
    }

    /** Finds a session for a request, in memory or in the store. */
    CompletionStage<Finding> find(String id, String principal) {
        SessionKey key = SessionKey.of(id, principal);
        LiveSession session = live.get(key);
        if (session != null && session.touch()) {
            return CompletableFuture.completedFuture(new Found(session));
        }
        if (session != null && session.ended() == EndReason.PARKED) {
            return session.ending().gone().thenCompose(gone -> find(id, principal));
        }
        return session == null && engine.durable() ? bring(key, id, principal) : MISSING;
    }

    private CompletionStage<Finding> bring(SessionKey key, String id, String principal) {
        if (engine.draining()) {
            return CompletableFuture.completedFuture(new Unavailable(Refusal.DRAINING));
        }
        return alone(key, () -> {
            if (live.containsKey(key)) {
                // it came back between the look and the claim
                return find(id, principal);
            }
            parked.remove(key);
            return back.claim(key, id, principal);
        });
    }

    /** Moves a session between memory and store, unless somebody does so already; then waits for them. */
    private CompletionStage<Finding> alone(SessionKey key, Supplier<CompletionStage<Finding>> move) {
        CompletableFuture<Finding> mine = new CompletableFuture<>();
        CompletableFuture<Finding> theirs = onTheWay.putIfAbsent(key, mine);
        if (theirs != null) {
            return theirs;
        }
        move.get().whenComplete((finding, failure) -> {
            onTheWay.remove(key, mine);
            if (failure == null) {
                mine.complete(finding);
            } else {
                mine.completeExceptionally(failure);
            }
        });
        return mine;
    }

    /** Ends the parked sessions whose deadline has passed. */
    void sweep(long now) {
        parked.forEach((key, session) -> {
            if (now - session.deadline >= 0) {
                alone(key, () -> expire(key, session));
            }
        });
    }

    private CompletionStage<Finding> expire(SessionKey key, Parked session) {
        return parked.remove(key, session)
                ? engine.store().delete(key).handle((done, failure) -> {
                    Optional.ofNullable(failure).ifPresent(f -> engine.news().notDeleted(session.id, f));
                    engine.news().closedInStore(session.id, EndReason.EXPIRED);
                    return new Missing();
                })
                : MISSING;
    }

    /** Ends a session that was put away just now, or has come back already. Completes when the store has let it go. */
    CompletionStage<Void> terminate(LiveSession put) {
        SessionKey key = put.key();
        return alone(key, () -> live.containsKey(key) ? find(put.id(), put.principal()) : terminateParked(put))
                .thenCompose(finding -> {
                    if (finding instanceof Found found) {
                        return found.session().terminate();
                    }
                    return finding instanceof Missing ? SessionLog.DONE : terminate(put);
                });
    }

    private CompletionStage<Finding> terminateParked(LiveSession put) {
        return engine.store().delete(put.key()).handle((done, failure) -> {
            if (failure != null) {
                throw new StoreUnavailableException(failure);
            }
            parked.remove(put.key());
            engine.news().closedInStore(put.id(), EndReason.TERMINATED);
            return new Missing();
        });
    }
}
