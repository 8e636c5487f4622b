package dev.holdfast.engine;

import dev.holdfast.EndReason;
import dev.holdfast.Finding;
import dev.holdfast.Finding.Found;
import dev.holdfast.Finding.Missing;
import dev.holdfast.Lifetime;
import dev.holdfast.Opening;
import dev.holdfast.Opening.Opened;
import dev.holdfast.Opening.Refused;
import dev.holdfast.Refusal;
import dev.holdfast.SessionDescription;
import dev.holdfast.Termination;
import dev.holdfast.Unavailable;
import dev.holdfast.engine.ParkedSessions.Left;
import dev.holdfast.engine.ParkedSessions.Parked;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.log.StoreQuestion.UnreadableException;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.session.Journal;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.RecordState;
import dev.holdfast.session.SessionHost;
import dev.holdfast.session.SingleFlight;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.ExpiryClock;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The sessions that this engine answers for: it opens them, and finds those in memory, those it has parked, and those that are on their
 * way between memory and store: of one session at most one move at a time. Everybody who asks for one that is on its way waits.
 *
 * <pre>
 *   opened --> LIVE --parked--> PARKED --found--> on its way --> LIVE
 *              LIVE --ended--> closed --the store has let it go--> gone
 *                               PARKED --deadline, terminated--> on its way --> gone
 *   of another process, in the store --found--> on its way --> LIVE, or PARKED where there is no room
 *                               any on its way --unreadable--> gone
 * </pre>
 */
final class SessionRegistry {
    private static final CompletionStage<Finding> MISSING = CompletableFuture.completedFuture(new Missing());
    /** Something has changed meanwhile: look again. */
    private static final CompletionStage<Optional<Finding>> AGAIN = CompletableFuture.completedFuture(Optional.empty());

    private static final int ID_BYTES = 18;
    private static final String TAKEN = "the backend proposed a session id that is taken";
    private static final int READ_BYTES = 1 << 20;
    private static final CompletionStage<Boolean> YES = CompletableFuture.completedFuture(true);
    private static final CompletionStage<Boolean> NO = CompletableFuture.completedFuture(false);

    private final SessionHost host;
    private final ClusterMembership cluster;
    private final LiveSessions live;
    private final ParkedSessions parked;
    private final ExpiryClock expiryClock;
    /** What is on its way: what has to be looked up again comes back empty. */
    private final SingleFlight<SessionKey, Optional<Finding>> moves = new SingleFlight<>();

    private final DeletionPause pause = new DeletionPause();

    private record Name(SessionKey key, String id, String principal) {}

    SessionRegistry(
            SessionHost host,
            ClusterMembership cluster,
            LiveSessions live,
            ParkedSessions parked,
            ExpiryClock expiryClock) {
        this.host = host;
        this.cluster = cluster;
        this.live = live;
        this.parked = parked;
        this.expiryClock = expiryClock;
    }

    /** Opens a session whose client has sent its {@code initialize} already. */
    CompletionStage<Opening> open(InboundMessage initialize, String principal, Lifetime lifetime, String kind) {
        Optional<Refusal> refusal = initialize.bytes().length > Journal.MOST_INITIALIZE_BYTES
                ? Optional.of(Refusal.BODY_SIZE)
                : enter(principal);
        if (refusal.isPresent()) {
            return CompletableFuture.completedFuture(new Unavailable(refusal.get()));
        }
        LiveSession session = session(principal, lifetime, kind);
        return orAbandoned(
                session,
                session.opening()
                        .openBackend(initialize)
                        .thenCompose(outcome -> answered(session, initialize, outcome)));
    }

    /** Opens a session whose client has yet to send it. */
    CompletionStage<Opening> open(String principal, Lifetime lifetime) {
        Optional<Refusal> refusal = enter(principal);
        if (refusal.isPresent()) {
            return CompletableFuture.completedFuture(new Unavailable(refusal.get()));
        }
        LiveSession session = session(principal, lifetime, SessionRecord.LISTENING_SESSION);
        return orAbandoned(
                session,
                admit(session, session.opening().create(newId()), new Opening.Awaiting(cluster.view(session))));
    }

    private Optional<Refusal> enter(String principal) {
        if (cluster.refusedLately(principal)) {
            return Optional.of(Refusal.PRINCIPAL_SESSIONS);
        }
        return live.enter(principal, host::draining);
    }

    private LiveSession session(String principal, Lifetime lifetime, String kind) {
        return new LiveSession(host, principal, RecordState.Seed.opened(lifetime, kind, host.random));
    }

    private static CompletionStage<Opening> orAbandoned(LiveSession session, CompletionStage<Opening> opening) {
        return opening.whenComplete((done, failure) -> {
            if (failure != null) {
                session.end().abandon();
            }
        });
    }

    private CompletionStage<Opening> answered(LiveSession session, InboundMessage initialize, Backend.Outcome outcome) {
        if (outcome instanceof Backend.Opened opened) {
            String id = opened.sessionId().orElseGet(this::newId);
            if (live.has(SessionKey.of(id, session.principal()))) {
                // the store may have let that one go already
                session.opening().decline(opened);
                throw new IllegalStateException(TAKEN);
            }
            return admit(
                    session,
                    session.opening().create(id, initialize, opened),
                    new Opened(cluster.view(session), opened.response()));
        }
        if (outcome instanceof Backend.Busy) {
            session.end().abandon();
            return CompletableFuture.completedFuture(new Unavailable(Refusal.BACKENDS));
        }
        if (outcome instanceof Backend.Unreachable unreachable) {
            if (!host.draining()) {
                host.telemetry.refused(Refusal.BACKEND_OPENING, unreachable.cause());
            }
            return refuse(session, unreachable.response());
        }
        return refuse(session, ((Backend.Refused) outcome).response());
    }

    private static CompletionStage<Opening> refuse(LiveSession session, OutboundMessage response) {
        session.end().abandon();
        return CompletableFuture.completedFuture(new Refused(response));
    }

    /** Lets a session in when the store has its record, and there is room for it among those of its principal. */
    private CompletionStage<Opening> admit(LiveSession session, CompletionStage<Void> created, Opening opening) {
        CompletionStage<Boolean> room = cluster.takeRoom(session);
        return created.whenComplete((done, failure) -> {
                    Throwable cause = StoreQuestion.causeOf(failure);
                    if (cause != null && !(cause.getCause() instanceof IllegalStateException)) {
                        // the store may have it all the same, unless it has another one of that name
                        session.end().forget();
                        room.thenAccept(has -> cluster.leaveRoom(session));
                    }
                })
                .thenCombine(room, (done, has) -> has ? letIn(session, opening) : turnAway(session));
    }

    private Opening letIn(LiveSession session, Opening opening) {
        if (!live.add(session)) {
            throw new IllegalStateException(TAKEN);
        }
        session.opening().start();
        host.makeRoom();
        if (host.draining()) {
            session.end(EndReason.DRAINED);
            return new Unavailable(Refusal.DRAINING);
        }
        if (!cluster.holds(session.key())) {
            // when the lease was lost this session was not in memory yet, and nobody gave it up
            session.leaseLost();
        }
        return opening;
    }

    /** The principal has as many sessions as may be: the store forgets this one, of which nobody has heard. */
    private Unavailable turnAway(LiveSession session) {
        session.end().abandon();
        session.end().forget();
        host.forget(session.key());
        return new Unavailable(Refusal.PRINCIPAL_SESSIONS);
    }

    private String newId() {
        byte[] bytes = new byte[ID_BYTES];
        host.random.nextBytes(bytes);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    /** Finds a session for a request, in memory or in the store. */
    CompletionStage<Finding> find(String id, String principal) {
        SessionKey key = SessionKey.of(id, principal);
        Optional<LiveSession> session = live.get(key);
        if (session.isEmpty()) {
            return host.durable ? restore(new Name(key, id, principal)) : MISSING;
        }
        if (session.get().touch()) {
            return CompletableFuture.completedFuture(new Found(cluster.view(session.get())));
        }
        return session.get().end().leavesToStore()
                ? session.get().end().gone().thenCompose(gone -> find(id, principal))
                : MISSING;
    }

    private CompletionStage<Finding> restore(Name name) {
        if (host.draining()) {
            return CompletableFuture.completedFuture(new Unavailable(Refusal.DRAINING));
        }
        return moves.of(name.key, () -> live.has(name.key) ? AGAIN : claim(name))
                .thenCompose(finding -> finding.<CompletionStage<Finding>>map(CompletableFuture::completedFuture)
                        .orElseGet(() -> find(name.id, name.principal)));
    }

    /**
     * Claims a session. A claim is a write, and makes an epoch: it is not made where a session that is known to exist would find no
     * place. One that was claimed and found no place counts as parked from then on, so that the next request for it costs no claim;
     * where there is no room for that, it is not claimed. Where nodes share the store, nothing is remembered of such a session, which
     * may live on with another node: the store is asked each time whether it exists.
     */
    private CompletionStage<Optional<Finding>> claim(Name name) {
        SessionKey key = name.key;
        Optional<Parked> was = parked.remove(key);
        Optional<Left> counted = parked.back(key);
        boolean asks = cluster.anyNodeRestores() || was.isPresent() || !parked.hasRoom(name.principal, 0);
        Optional<Refusal> refusal = asks ? wouldRefuse(name.principal) : Optional.empty();
        BiConsumer<Epoch, Duration> turnedAway = (epoch, left) -> {
            if (!cluster.anyNodeRestores()) {
                parked.add(
                        key,
                        was.map(known -> known.claimed(epoch))
                                .orElseGet(() -> new Parked(
                                        name.id, name.principal, epoch, 0, host.clock.now(), left.toNanos())));
            }
        };
        CompletionStage<Finding> found =
                refusal.isPresent() ? refused(key, new Unavailable(refusal.get())) : claimStored(name, turnedAway);
        return found.handle((finding, failure) -> {
                    if (!(finding instanceof Found)) {
                        parked.gone(key);
                    }
                    if (StoreQuestion.causeOf(failure) instanceof UnreadableException unreadable) {
                        host.telemetry.unreadable(name.id, unreadable);
                        return deleteStored(name, EndReason.RESTORE_FAILED);
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

    /** Why no place could be taken now, if none could. */
    private Optional<Refusal> wouldRefuse(String principal) {
        return host.draining() ? Optional.of(Refusal.DRAINING) : live.wouldRefuse(principal);
    }

    /** There is no place for a session; where nodes share the store, it may have ended long ago. */
    private CompletionStage<Finding> refused(SessionKey key, Unavailable refusal) {
        return cluster.anyNodeRestores()
                ? StoreQuestion.ask(() -> host.store().look(key))
                        .thenApply(look -> look.isPresent() ? refusal : new Missing())
                : CompletableFuture.completedFuture(refusal);
    }

    /** How many wait in the store, as far as this engine has parked them. */
    int parked() {
        return parked.size();
    }

    /** The same, as they are told to those who watch a server. */
    Stream<SessionDescription.Parked> parkedSessions() {
        long now = host.clock.now();
        return parked.all()
                .map(session -> new SessionDescription.Parked(
                        session.shortId(),
                        session.principal(),
                        Duration.ofNanos(now - session.since()),
                        session.bytes()));
    }

    /** Ends one of them, which is named by the beginning of its id. */
    CompletionStage<Termination> terminateParked(String shortId, Predicate<String> owner) {
        List<Parked> named = parked.all()
                .filter(session -> session.shortId().equals(shortId) && owner.test(session.principal()))
                .limit(2)
                .toList();
        if (named.size() != 1) {
            return CompletableFuture.completedFuture(named.isEmpty() ? Termination.UNKNOWN : Termination.AMBIGUOUS);
        }
        return terminate(named.get(0).id(), named.get(0).principal(), any -> true)
                .thenApply(found -> found ? Termination.ENDED : Termination.UNKNOWN);
    }

    /** Counts those no longer that were left to a store which nodes share, and whose time is over there. */
    void sweepLeft(long now) {
        parked.sweep(now);
    }

    /** Ends the parked sessions whose deadline has passed; what the store does not let go is tried again by a later sweep. */
    void sweep(long now) {
        parked.forEach((key, session) -> {
            if (host.clock.passed(session.nanos(), session.since(), now) && !pause.lasts(now)) {
                moves.of(key, () -> expire(key, session, now));
            }
        });
    }

    private CompletionStage<Optional<Finding>> expire(SessionKey key, Parked session, long now) {
        if (!parked.has(key, session)) {
            return AGAIN;
        }
        return host.remove(key, session.epoch()).handle((ours, failure) -> {
            if (failure != null) {
                // the store may have it still: who waits here looks for it there
                pause.failed(now);
                host.telemetry.notDeleted(session.id(), failure);
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
        host.telemetry.expiredInStore(
                session.id(), session.principal(), Duration.ofNanos(host.clock.now() - session.since()));
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
            return host.durable ? terminateStored(new Name(key, id, principal), kinds) : NO;
        }
        if (!kinds.test(session.get().kind())) {
            return NO;
        }
        if (session.get().touch()) {
            return session.get().terminate().thenApply(done -> true);
        }
        return session.get().end().leavesToStore()
                ? session.get().end().gone().thenCompose(gone -> terminate(id, principal, kinds))
                : NO;
    }

    private CompletionStage<Boolean> terminateStored(Name name, Predicate<String> kinds) {
        AtomicBoolean found = new AtomicBoolean();
        Supplier<CompletionStage<Optional<Finding>>> termination =
                () -> isKept(name.key, kinds).thenCompose(kept -> {
                    found.set(kept);
                    return kept
                            ? deleteStored(name, EndReason.TERMINATED)
                            : CompletableFuture.completedFuture(Optional.of(new Missing()));
                });
        return moves.of(name.key, () -> live.has(name.key) ? AGAIN : termination.get())
                .thenCompose(finding -> {
                    boolean gone = finding.filter(Missing.class::isInstance).isPresent();
                    if (gone) {
                        parked.gone(name.key);
                    }
                    return gone
                            ? CompletableFuture.completedFuture(found.get())
                            // somebody else has moved it meanwhile
                            : terminate(name.id, name.principal, kinds);
                });
    }

    /** Whether the store has a session of these kinds; one that cannot be read may be any. */
    private CompletionStage<Boolean> isKept(SessionKey key, Predicate<String> kinds) {
        return StoreQuestion.ask(() -> host.store().look(key)).handle((look, failure) -> {
            if (failure != null && !(StoreQuestion.causeOf(failure) instanceof UnreadableException)) {
                throw new CompletionException(StoreQuestion.causeOf(failure));
            }
            return failure != null
                    || look.filter(kept -> kinds.test(kept.record().kind())).isPresent();
        });
    }

    /** Lets the store forget a session that is in nobody's memory. */
    private CompletionStage<Optional<Finding>> deleteStored(Name name, EndReason why) {
        return StoreQuestion.ask(() -> host.store().delete(name.key)).thenApply(done -> {
            parked.remove(name.key);
            host.telemetry.closedInStore(name.id, name.principal, why);
            return Optional.of(new Missing());
        });
    }

    /**
     * Claims a session and reads what is kept of it; missing where the store does not have it.
     *
     * @param turnedAway gets the session's epoch and how long it still has, if it finds no place
     */
    private CompletionStage<Finding> claimStored(Name name, BiConsumer<Epoch, Duration> turnedAway) {
        return StoreQuestion.ask(() -> host.store().claim(name.key, host.random.nextInt()))
                .thenCompose(claim ->
                        claim.isEmpty() ? MISSING : orForgotten(name.key, () -> bring(name, claim.get(), turnedAway)));
    }

    /** What was claimed and is not let in, for whatever reason, does not stay with this node. */
    private CompletionStage<Finding> orForgotten(SessionKey key, Supplier<CompletionStage<Finding>> bringing) {
        return StoreQuestion.asked(bringing).whenComplete((finding, failure) -> {
            if (failure != null || !live.has(key)) {
                host.forget(key);
            }
        });
    }

    private CompletionStage<Finding> bring(
            Name name, SessionStore.Claim claim, BiConsumer<Epoch, Duration> turnedAway) {
        RecordState.Seed origin = UnreadableException.read(() -> RecordState.Seed.kept(claim));
        // without a grace period: its connection broke when its process ended, unless another node has it
        CompletionStage<Boolean> over = origin.lifetime().grace().isZero() ? host.remove(name.key, claim.epoch()) : NO;
        return over.thenCompose(gone -> gone ? MISSING : enterClaimed(name, origin, claim, turnedAway));
    }

    private CompletionStage<Finding> enterClaimed(
            Name name, RecordState.Seed origin, SessionStore.Claim claim, BiConsumer<Epoch, Duration> turnedAway) {
        Optional<Refusal> refusal = live.enter(name.principal, host::draining);
        if (refusal.isPresent()) {
            turnedAway.accept(claim.epoch(), Duration.ofMillis(claim.record().expiresAt() - expiryClock.millis()));
            return CompletableFuture.completedFuture(new Unavailable(refusal.get()));
        }
        LiveSession session = new LiveSession(host, name.principal, origin);
        Map<StreamId, List<Event>> events = new LinkedHashMap<>();
        return read(name.key, claim, events)
                .thenApply(whole -> whole && lives(claim) ? admit(session, name.id, claim, events) : new Missing())
                .whenComplete((finding, failure) -> {
                    if (failure != null || finding instanceof Missing) {
                        session.end().abandon();
                    }
                });
    }

    /** Whether a session has not expired while it was read. */
    private boolean lives(SessionStore.Claim claim) {
        return expiryClock.millis() < claim.record().expiresAt();
    }

    /** Reads all that is kept of each stream; false if the store has let the session go meanwhile. */
    private CompletionStage<Boolean> read(SessionKey key, SessionStore.Claim claim, Map<StreamId, List<Event>> into) {
        CompletionStage<Boolean> all = YES;
        for (Map.Entry<StreamId, SessionStore.Extent> stream : claim.streams().entrySet()) {
            List<Event> events = new ArrayList<>();
            into.put(stream.getKey(), events);
            all = all.thenCompose(whole -> whole ? read(key, stream.getKey(), 0, stream.getValue(), events) : NO);
        }
        return all;
    }

    /** Nobody appends or trims after the claim: the last event is there, unless it was trimmed, or nothing is. */
    private CompletionStage<Boolean> read(
            SessionKey key, StreamId stream, long after, SessionStore.Extent extent, List<Event> events) {
        if (after >= extent.last()) {
            return YES;
        }
        return StoreQuestion.ask(() -> host.store().read(key, stream, after, READ_BYTES))
                .thenCompose(more -> {
                    events.addAll(more);
                    if (more.isEmpty()) {
                        return extent.trimmed() < extent.last() ? NO : YES;
                    }
                    return read(key, stream, more.get(more.size() - 1).offset(), extent, events);
                });
    }

    private Finding admit(LiveSession session, String id, SessionStore.Claim claim, Map<StreamId, List<Event>> events) {
        session.opening().restore(id, claim, events, () -> live.add(session));
        host.makeRoom();
        if (host.draining()) {
            session.end().drain();
            return new Unavailable(Refusal.DRAINING);
        }
        return new Found(cluster.view(session));
    }

    /** Leaves a store alone that has failed to delete a session, each time for longer. Thread-safe. */
    private static final class DeletionPause {
        private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
        private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(60);

        private boolean begun;
        private long until;
        private long next = FIRST_NANOS;

        /** Whether the store is left alone now. */
        synchronized boolean lasts(long now) {
            return begun && now - until < 0;
        }

        /** The store has failed at something that was asked then; of what was asked together only the first failure counts. */
        synchronized void failed(long asked) {
            if (!lasts(asked)) {
                begun = true;
                until = asked + next;
                next = Math.min(2 * next, LONGEST_NANOS);
            }
        }

        synchronized void succeeded() {
            begun = false;
            next = FIRST_NANOS;
        }
    }
}
