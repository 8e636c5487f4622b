package dev.holdfast;

import dev.holdfast.ParkedSessions.Parked;
import dev.holdfast.SessionEngine.Finding;
import dev.holdfast.SessionEngine.Found;
import dev.holdfast.SessionEngine.Missing;
import dev.holdfast.SessionEngine.Unavailable;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The sessions that this engine answers for: those in memory, those it has parked, and those that are on their way between
 * memory and store. Of one session at most one is on its way, and everybody who asks for it meanwhile waits.
 *
 * <pre>
 *   opened --> LIVE --parked--> PARKED --found--> on its way --> LIVE
 *              LIVE --ended--> closed --the store has let it go--> gone
 *                               PARKED --deadline, terminated--> on its way --> gone
 *   of another process, in the store --found--> on its way --> LIVE, or PARKED where there is no room
 *                               any on its way --unreadable--> gone
 * </pre>
 */
final class SessionTable {
    private static final CompletionStage<Finding> MISSING = CompletableFuture.completedFuture(new Missing());
    private static final CompletionStage<Boolean> NOTHING = CompletableFuture.completedFuture(false);

    /** Something has changed meanwhile: look again. */
    private static final CompletionStage<Optional<Finding>> AGAIN = CompletableFuture.completedFuture(Optional.empty());

    private final SessionEngine engine;
    private final Return back;
    /** Those that have ended stay here until the store has let them go, so that nobody brings them back. */
    private final Map<SessionKey, LiveSession> live = new ConcurrentHashMap<>();

    private final AtomicInteger open = new AtomicInteger();
    private final ParkedSessions parked;
    private final Map<SessionKey, CompletableFuture<Optional<Finding>>> onTheWay = new ConcurrentHashMap<>();

    SessionTable(SessionEngine engine, NodeLimits limits) {
        this.engine = engine;
        this.parked = new ParkedSessions(limits);
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

    /** Whether this one may be parked. */
    boolean canPark(LiveSession session) {
        return parked.hasRoom(session.principal(), session.historyBytes());
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

    /** The session of an id that is in memory. */
    Optional<LiveSession> inMemory(String id, String principal) {
        return Optional.ofNullable(live.get(SessionKey.of(id, principal)));
    }

    /** The store has let go of a session that has ended. */
    void remove(LiveSession session) {
        live.remove(session.key(), session);
    }

    /** A session has left memory, and waits in the store for its client. */
    void park(LiveSession session, long bytes, long since, long patience) {
        parked.add(session.key(), new Parked(session.id(), session.principal(), bytes, since, patience));
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
        return alone(key, () -> live.containsKey(key) ? AGAIN : claim(key, id, principal))
                .thenCompose(finding -> finding.<CompletionStage<Finding>>map(CompletableFuture::completedFuture)
                        .orElseGet(() -> find(id, principal)));
    }

    /**
     * Claims a session. A claim is a write, and makes an epoch: it is not made where a session that is known to exist would find no
     * place. Whoever was claimed and found none is known from then on; where there is no room to know him, he is not claimed.
     */
    private CompletionStage<Optional<Finding>> claim(SessionKey key, String id, String principal) {
        Optional<Parked> was = parked.remove(key);
        boolean asks = was.isPresent() || !parked.hasRoom(principal, 0);
        Optional<Refusal> refusal = asks ? engine.opener().wouldRefuse(principal) : Optional.empty();
        if (refusal.isPresent()) {
            was.ifPresent(known -> parked.giveBack(key, known));
            return CompletableFuture.completedFuture(Optional.of(new Unavailable(refusal.get())));
        }
        Consumer<Duration> turnedAway = left -> {
            if (was.isEmpty()) {
                parked.add(key, new Parked(id, principal, 0, engine.now(), left.toNanos()));
            }
        };
        return back.claim(key, id, principal, turnedAway)
                .handle((finding, failure) -> {
                    if (failure != null && causeOf(failure) instanceof UnreadableException unreadable) {
                        return discard(key, id, unreadable);
                    }
                    if (finding instanceof Missing) {
                        was.ifPresent(session -> engine.news().closedInStore(id, EndReason.EXPIRED));
                    } else if (!(finding instanceof Found)) {
                        was.ifPresent(session -> parked.giveBack(key, session));
                    }
                    return failure == null
                            ? CompletableFuture.completedFuture(Optional.of(finding))
                            : CompletableFuture.<Optional<Finding>>failedFuture(failure);
                })
                .thenCompose(Function.identity());
    }

    private static Throwable causeOf(Throwable failure) {
        return failure instanceof CompletionException wrapped && wrapped.getCause() != null
                ? wrapped.getCause()
                : failure;
    }

    /** Ends a session that can never come back. */
    private CompletionStage<Optional<Finding>> discard(SessionKey key, String id, Throwable why) {
        engine.news().unreadable(id, why);
        return Return.fromStore(() -> engine.store().delete(key)).thenApply(done -> {
            engine.news().closedInStore(id, EndReason.RESTORE_FAILED);
            return Optional.of(new Missing());
        });
    }

    /**
     * Moves a session between memory and store, unless somebody does so already; then waits for them. The move must not wait for
     * another of the same session: what has to be looked up again comes back empty.
     */
    private CompletionStage<Optional<Finding>> alone(
            SessionKey key, Supplier<CompletionStage<Optional<Finding>>> move) {
        CompletableFuture<Optional<Finding>> mine = new CompletableFuture<>();
        CompletableFuture<Optional<Finding>> theirs = onTheWay.putIfAbsent(key, mine);
        if (theirs != null) {
            return theirs;
        }
        CompletionStage<Optional<Finding>> moved;
        try {
            moved = move.get();
        } catch (RuntimeException e) {
            moved = CompletableFuture.failedFuture(e);
        }
        moved.whenComplete((finding, failure) -> {
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
            if (engine.time().passed(session.nanos(), session.since(), now)) {
                alone(key, () -> expire(key, session));
            }
        });
    }

    private CompletionStage<Optional<Finding>> expire(SessionKey key, Parked session) {
        if (!parked.remove(key, session)) {
            return AGAIN;
        }
        return Return.fromStore(() -> engine.store().delete(key)).handle((done, failure) -> {
            Optional.ofNullable(failure).ifPresent(f -> engine.news().notDeleted(session.id(), f));
            engine.news().closedInStore(session.id(), EndReason.EXPIRED);
            return Optional.of(new Missing());
        });
    }

    /**
     * Ends a session for good, wherever it is; one that is only in the store needs no backend and no place for that.
     *
     * @return whether there was one, when the store has let it go
     */
    CompletionStage<Boolean> terminate(String id, String principal) {
        SessionKey key = SessionKey.of(id, principal);
        LiveSession session = live.get(key);
        if (session != null && session.touch()) {
            return session.terminate().thenApply(done -> true);
        }
        if (session != null) {
            return session.ended() == EndReason.PARKED
                    ? session.ending().gone().thenCompose(gone -> terminate(id, principal))
                    : NOTHING;
        }
        return engine.durable() ? terminateKept(key, id, principal) : NOTHING;
    }

    private CompletionStage<Boolean> terminateKept(SessionKey key, String id, String principal) {
        AtomicBoolean was = new AtomicBoolean();
        return alone(key, () -> live.containsKey(key) ? AGAIN : erase(key, id, was))
                .thenCompose(finding -> {
                    boolean gone = finding.filter(Missing.class::isInstance).isPresent();
                    return gone
                            ? CompletableFuture.completedFuture(was.get())
                            // somebody else has moved it meanwhile
                            : terminate(id, principal);
                });
    }

    /** Lets the store forget a session that is in nobody's memory. */
    private CompletionStage<Optional<Finding>> erase(SessionKey key, String id, AtomicBoolean was) {
        return isKept(key).thenCompose(kept -> {
            CompletionStage<Void> deleted =
                    kept ? Return.fromStore(() -> engine.store().delete(key)) : SessionLog.DONE;
            return deleted.thenApply(done -> {
                was.set(kept);
                parked.remove(key);
                if (kept) {
                    engine.news().closedInStore(id, EndReason.TERMINATED);
                }
                return Optional.of(new Missing());
            });
        });
    }

    private CompletionStage<Boolean> isKept(SessionKey key) {
        return parked.has(key)
                ? CompletableFuture.completedFuture(true)
                : Return.fromStore(
                                () -> engine.store().claim(key, engine.random().nextInt()))
                        .handle((claim, failure) -> {
                            if (failure != null && !(causeOf(failure) instanceof UnreadableException)) {
                                throw new CompletionException(causeOf(failure));
                            }
                            return failure != null || claim.isPresent();
                        });
    }
}
