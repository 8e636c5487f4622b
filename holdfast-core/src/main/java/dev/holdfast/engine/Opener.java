package dev.holdfast.engine;

import dev.holdfast.EndReason;
import dev.holdfast.Lifetime;
import dev.holdfast.Opening;
import dev.holdfast.Opening.Opened;
import dev.holdfast.Opening.Refused;
import dev.holdfast.Refusal;
import dev.holdfast.Unavailable;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.session.Journal;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.RecordState;
import dev.holdfast.session.SessionHost;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.SessionKey;
import java.util.Base64;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/** The way of a session into the engine: a place is taken for it, its backend asked, its record made; then it is let in. */
final class Opener {
    private static final int ID_BYTES = 18;
    private static final String TAKEN = "the backend proposed a session id that is taken";

    private final SessionHost host;
    private final LiveSessions live;
    private final ClusterMembership cluster;

    Opener(SessionHost host, ClusterMembership cluster, LiveSessions live) {
        this.host = host;
        this.cluster = cluster;
        this.live = live;
    }

    /** Opens a session whose client has sent its {@code initialize} already. */
    CompletionStage<Opening> open(InboundMessage initialize, String principal, Lifetime lifetime) {
        Optional<Refusal> refusal = initialize.bytes().length > Journal.MOST_INITIALIZE_BYTES
                ? Optional.of(Refusal.BODY_SIZE)
                : enter(principal);
        if (refusal.isPresent()) {
            return CompletableFuture.completedFuture(new Unavailable(refusal.get()));
        }
        LiveSession session = session(principal, lifetime, false);
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
        LiveSession session = session(principal, lifetime, true);
        return orAbandoned(
                session,
                admit(session, session.opening().create(newId()), new Opening.Awaiting(cluster.face(session))));
    }

    private Optional<Refusal> enter(String principal) {
        if (cluster.refusedLately(principal)) {
            return Optional.of(Refusal.PRINCIPAL_SESSIONS);
        }
        return live.enter(principal, host::draining);
    }

    private LiveSession session(String principal, Lifetime lifetime, boolean listensOnly) {
        return new LiveSession(host, principal, RecordState.Seed.opened(lifetime, listensOnly, host.random));
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
                    new Opened(cluster.face(session), opened.response()));
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
                    if (failure != null && !taken(failure)) {
                        // the store may have it all the same
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

    /** Whether the store has another session of that name. */
    private static boolean taken(Throwable failure) {
        Throwable cause = failure instanceof CompletionException wrapped ? wrapped.getCause() : failure;
        return cause != null && cause.getCause() instanceof IllegalStateException;
    }

    private String newId() {
        byte[] bytes = new byte[ID_BYTES];
        host.random.nextBytes(bytes);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }
}
