package dev.holdfast.engine;

import dev.holdfast.EndReason;
import dev.holdfast.Finding;
import dev.holdfast.Finding.Found;
import dev.holdfast.Finding.Missing;
import dev.holdfast.Refusal;
import dev.holdfast.Unavailable;
import dev.holdfast.engine.ParkedSessions.Left;
import dev.holdfast.engine.ParkedSessions.Parked;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.SessionHost;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.session.UnreadableException;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Finds the sessions that this engine answers for: those in memory, those it has parked, and those that are on their way between
 * memory and store. Everybody who asks for one that is on its way waits.
 *
 * <pre>
 *   opened --> LIVE --parked--> PARKED --found--> on its way --> LIVE
 *              LIVE --ended--> closed --the store has let it go--> gone
 *                               PARKED --deadline, terminated--> on its way --> gone
 *   of another process, in the store --found--> on its way --> LIVE, or PARKED where there is no room
 *                               any on its way --unreadable--> gone
 * </pre>
 */
final class SessionFinder {
    private static final CompletionStage<Finding> MISSING = CompletableFuture.completedFuture(new Missing());
    private static final CompletionStage<Boolean> NOTHING = CompletableFuture.completedFuture(false);

    private final SessionHost host;
    private final ClusterMembership cluster;
    private final LiveSessions live;
    private final ParkedSessions parked;
    private final Admission admission;
    private final Restore restore;
    private final SessionMoves moves = new SessionMoves();
    private final StoredEnd storedEnd;
    private final DeletionPause pause = new DeletionPause();

    SessionFinder(SessionHost host, Node node, Restore restore, ClusterMembership cluster) {
        this.host = host;
        this.cluster = cluster;
        this.live = node.live();
        this.parked = node.parked();
        this.admission = node.admission();
        this.restore = restore;
        this.storedEnd = new StoredEnd(host, parked);
    }

    /** Finds a session for a request, in memory or in the store. */
    CompletionStage<Finding> find(String id, String principal) {
        SessionKey key = SessionKey.of(id, principal);
        Optional<LiveSession> session = live.get(key);
        if (session.isEmpty()) {
            return host.durable() ? restore(key, id, principal) : MISSING;
        }
        if (session.get().touch()) {
            return CompletableFuture.completedFuture(new Found(cluster.face(session.get())));
        }
        return session.get().end().leavesToStore()
                ? session.get().end().gone().thenCompose(gone -> find(id, principal))
                : MISSING;
    }

    private CompletionStage<Finding> restore(SessionKey key, String id, String principal) {
        if (host.draining()) {
            return CompletableFuture.completedFuture(new Unavailable(Refusal.DRAINING));
        }
        return moves.alone(key, () -> live.has(key) ? SessionMoves.AGAIN : claim(key, id, principal))
                .thenCompose(finding -> finding.<CompletionStage<Finding>>map(CompletableFuture::completedFuture)
                        .orElseGet(() -> find(id, principal)));
    }

    /**
     * Claims a session. A claim is a write, and makes an epoch: it is not made where a session that is known to exist would find no
     * place. One that was claimed and found no place counts as parked from then on, so that the next request for it costs no claim;
     * where there is no room for that, it is not claimed. Where nodes share the store, nothing is remembered of such a session, which
     * may live on with another node: the store is asked each time whether it exists.
     */
    private CompletionStage<Optional<Finding>> claim(SessionKey key, String id, String principal) {
        Optional<Parked> was = parked.remove(key);
        Optional<Left> counted = parked.back(key);
        boolean asks = cluster.anyNodeRestores() || was.isPresent() || !parked.hasRoom(principal, 0);
        Optional<Refusal> refusal = asks ? admission.wouldRefuse(principal) : Optional.empty();
        BiConsumer<Epoch, Duration> turnedAway = (epoch, left) -> {
            if (!cluster.anyNodeRestores()) {
                parked.add(
                        key,
                        was.map(known -> known.claimed(epoch))
                                .orElseGet(() -> new Parked(
                                        id, principal, epoch, 0, host.clock().now(), left.toNanos())));
            }
        };
        CompletionStage<Finding> found = refusal.isPresent()
                ? refused(key, new Unavailable(refusal.get()))
                : restore.claim(key, id, principal, turnedAway);
        return found.handle((finding, failure) -> {
                    if (!(finding instanceof Found)) {
                        parked.gone(key);
                    }
                    if (failure != null && StoredEnd.causeOf(failure) instanceof UnreadableException unreadable) {
                        host.telemetry().unreadable(id, unreadable);
                        return storedEnd.delete(key, id, principal, EndReason.RESTORE_FAILED);
                    }
                    if (finding instanceof Missing) {
                        was.ifPresent(this::expired);
                    } else if (!(finding instanceof Found)) {
                        counted.ifPresent(session -> parked.left(key, session));
                        was.ifPresent(session -> parked.giveBack(key, session));
                    }
                    return failure == null
                            ? CompletableFuture.completedFuture(Optional.of(finding))
                            : CompletableFuture.<Optional<Finding>>failedFuture(failure);
                })
                .thenCompose(Function.identity());
    }

    /** There is no place for a session; where nodes share the store, it may have ended long ago. */
    private CompletionStage<Finding> refused(SessionKey key, Unavailable refusal) {
        return cluster.anyNodeRestores()
                ? StoreQuestion.ask(() -> host.store().look(key))
                        .thenApply(look -> look.isPresent() ? refusal : new Missing())
                : CompletableFuture.completedFuture(refusal);
    }

    /** Ends the parked sessions whose deadline has passed; what the store does not let go is tried again by a later sweep. */
    void sweep(long now) {
        parked.forEach((key, session) -> {
            if (host.clock().passed(session.nanos(), session.since(), now) && !pause.lasts(now)) {
                moves.alone(key, () -> expire(key, session, now));
            }
        });
    }

    private CompletionStage<Optional<Finding>> expire(SessionKey key, Parked session, long now) {
        if (!parked.has(key, session)) {
            return SessionMoves.AGAIN;
        }
        return host.remove(key, session.epoch()).handle((ours, failure) -> {
            if (failure != null) {
                // the store may have it still: who waits here looks for it there
                pause.failed(now);
                host.telemetry().notDeleted(session.id(), failure);
                return Optional.empty();
            }
            pause.succeeded();
            parked.remove(key);
            if (!ours) {
                // another engine has it now: who waits here looks for it there
                return Optional.empty();
            }
            expired(session);
            return Optional.of(new Missing());
        });
    }

    private void expired(Parked session) {
        host.telemetry()
                .expiredInStore(
                        session.id(),
                        session.principal(),
                        Duration.ofNanos(host.clock().now() - session.since()));
    }

    /**
     * Ends a session for good, wherever it is; one that is only in the store needs no backend and no place for that.
     *
     * @param kinds which kinds of sessions end; others are not found
     * @return whether there was one, when the store has let it go
     */
    CompletionStage<Boolean> terminate(String id, String principal, Predicate<String> kinds) {
        SessionKey key = SessionKey.of(id, principal);
        Optional<LiveSession> session = live.get(key);
        if (session.isEmpty()) {
            return host.durable() ? terminateStored(key, id, principal, kinds) : NOTHING;
        }
        if (!kinds.test(session.get().listensOnly() ? SessionRecord.LISTENING_SESSION : SessionRecord.SESSION)) {
            return NOTHING;
        }
        if (session.get().touch()) {
            return session.get().terminate().thenApply(done -> true);
        }
        return session.get().end().leavesToStore()
                ? session.get().end().gone().thenCompose(gone -> terminate(id, principal, kinds))
                : NOTHING;
    }

    private CompletionStage<Boolean> terminateStored(
            SessionKey key, String id, String principal, Predicate<String> kinds) {
        StoredEnd.Termination termination = storedEnd.termination(key, id, principal, kinds);
        return moves.alone(key, () -> live.has(key) ? SessionMoves.AGAIN : termination.run())
                .thenCompose(finding -> {
                    boolean gone = finding.filter(Missing.class::isInstance).isPresent();
                    if (gone) {
                        parked.gone(key);
                    }
                    return gone
                            ? CompletableFuture.completedFuture(termination.found())
                            // somebody else has moved it meanwhile
                            : terminate(id, principal, kinds);
                });
    }
}
