package dev.holdfast;

import dev.holdfast.SessionEngine.Opened;
import dev.holdfast.SessionEngine.Opening;
import dev.holdfast.SessionEngine.Refused;
import dev.holdfast.SessionEngine.Unavailable;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.util.Base64;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/** The way of a session into the engine: a place is taken for it, its backend asked, its record made; then it is let in. */
final class Opener {
    private static final int ID_BYTES = 18;

    private final SessionEngine engine;
    private final SessionTable sessions;
    private final Capacity capacity;
    private final Drain drain;

    Opener(SessionEngine engine, SessionTable sessions, Capacity capacity, Drain drain) {
        this.engine = engine;
        this.sessions = sessions;
        this.capacity = capacity;
        this.drain = drain;
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
                session.openBackend(initialize.withoutContext())
                        .thenCompose(outcome -> answered(session, initialize, outcome)));
    }

    /** Opens a session whose client has yet to send it. */
    CompletionStage<Opening> open(String principal, Lifetime lifetime) {
        Optional<Refusal> refusal = enter(principal);
        if (refusal.isPresent()) {
            return CompletableFuture.completedFuture(new Unavailable(refusal.get()));
        }
        LiveSession session = session(principal, lifetime, true);
        return orAbandoned(session, admit(session, session.create(newId()), new SessionEngine.Awaiting(session)));
    }

    private LiveSession session(String principal, Lifetime lifetime, boolean listensOnly) {
        return new LiveSession(engine, principal, Origin.opened(lifetime, listensOnly, engine.random()));
    }

    /** Why no place could be taken now, if none could. */
    Optional<Refusal> wouldRefuse(String principal) {
        return drain.begun() ? Optional.of(Refusal.DRAINING) : capacity.wouldRefuse(principal);
    }

    /** Takes a place for one more session, unless there is none. */
    Optional<Refusal> enter(String principal) {
        drain.sessionBegun();
        Optional<Refusal> refusal = drain.begun() ? Optional.of(Refusal.DRAINING) : capacity.take(principal);
        if (refusal.isPresent()) {
            drain.sessionEnded();
        }
        return refusal;
    }

    private static CompletionStage<Opening> orAbandoned(LiveSession session, CompletionStage<Opening> opening) {
        return opening.whenComplete((done, failure) -> {
            if (failure != null) {
                session.ending().abandon();
            }
        });
    }

    private CompletionStage<Opening> answered(LiveSession session, InboundMessage initialize, Backend.Outcome outcome) {
        if (outcome instanceof Backend.Opened opened) {
            String id = opened.sessionId().orElseGet(this::newId);
            return admit(session, session.create(id, initialize, opened), new Opened(session, opened.response()));
        }
        return outcome instanceof Backend.Unreachable unreachable
                ? refuse(session, unreachable.response())
                : refuse(session, ((Backend.Refused) outcome).response());
    }

    private static CompletionStage<Opening> refuse(LiveSession session, OutboundMessage response) {
        session.ending().abandon();
        return CompletableFuture.completedFuture(new Refused(response));
    }

    /** Lets a session in when the store has its record. */
    private CompletionStage<Opening> admit(LiveSession session, CompletionStage<Void> created, Opening opening) {
        return created.whenComplete((done, failure) -> {
                    if (failure != null && !taken(failure)) {
                        // the store may have it all the same
                        session.ending().forget();
                    }
                })
                .thenApply(done -> {
                    if (!sessions.add(session)) {
                        throw new IllegalStateException("the backend proposed a session id that is taken");
                    }
                    engine.news().created(session);
                    session.start();
                    engine.history().makeRoom();
                    if (drain.begun()) {
                        session.close(EndReason.DRAINED);
                        return new Unavailable(Refusal.DRAINING);
                    }
                    return opening;
                });
    }

    /** Whether the store has another session of that name. */
    private static boolean taken(Throwable failure) {
        Throwable cause = failure instanceof CompletionException wrapped ? wrapped.getCause() : failure;
        return cause != null && cause.getCause() instanceof IllegalStateException;
    }

    private String newId() {
        byte[] bytes = new byte[ID_BYTES];
        engine.random().nextBytes(bytes);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }
}
