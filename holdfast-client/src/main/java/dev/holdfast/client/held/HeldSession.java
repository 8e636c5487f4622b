package dev.holdfast.client.held;

import dev.holdfast.client.Departures;
import dev.holdfast.client.MessageSink;
import dev.holdfast.client.NotTakenException;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpening.Protocol;
import dev.holdfast.json.Envelope;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The session of an application, which the application begins with {@code initialize} as it would begin any. Thread-safe; holds no
 * thread.
 */
public final class HeldSession {
    /** So often a message goes on to another session; a server that loses every one of them serves nobody. */
    private static final int MOST_SESSIONS = 3;

    private final int mostUnderWay;
    private final Overheard overheard = new Overheard();
    private final Questions questions = new Questions();
    private final Introduction introduction = new Introduction();
    private final Places places;
    private final Departures departures;
    private final AtomicInteger underWay = new AtomicInteger();

    /**
     * A session that was not begun.
     *
     * @param application takes every message of the server
     */
    public HeldSession(RemoteServer server, Protocol protocol, MessageSink application, HeldWatch watch) {
        this.mostUnderWay = server.limits().inFlight();
        MessageSink guarded = application.guarded();
        Replacement replacement =
                new Replacement(introduction, overheard.settings(), questions, guarded, watch, server);
        this.places = new Places(server, protocol, replacement, introduction, questions, guarded, watch);
        this.departures = new Departures(server::later);
        departures.open();
    }

    /** Opens the listening stream before there is a session, as servers without sessions allow. */
    public void listen(Object context) {
        places.now().thenAccept(now -> {
            if (now instanceof Place.At at) {
                at.session().listen(context);
            }
        });
    }

    /**
     * Sends a message of the application. The stage completes when what became of it is certain, and never with a failure; the
     * response of a request is handed over before.
     *
     * @param context handed to the customizer of requests
     */
    public CompletionStage<Outcome> send(Envelope message, Object context) {
        if (places.closed()) {
            return done(new Outcome.Closed());
        }
        if (underWay.incrementAndGet() > mostUnderWay) {
            underWay.decrementAndGet();
            return done(new Outcome.NotSent(new NotTakenException(mostUnderWay + " messages are under way")));
        }
        // a copy, so that who gives the stage up does not take the count with it
        return departures
                .send(message, () -> begin(message, context))
                .thenApply(outcome -> {
                    underWay.decrementAndGet();
                    return outcome.since(places.closed());
                })
                .copy();
    }

    private CompletionStage<Outcome> begin(Envelope message, Object context) {
        if (message.method().equals("initialize")) {
            overheard.settings().clear();
            return places.initialize(message, context);
        }
        CompletableFuture<Place> now = places.now();
        if (now.getNow(new Place.Lost(-1)) instanceof Place.Lost lost && now.isDone()) {
            return places.replace(lost).thenCompose(next -> sendAt(next, message, context, 1));
        }
        return now.thenCompose(at -> sendAt(at, message, context, 0));
    }

    private CompletionStage<Outcome> sendAt(Place where, Envelope message, Object context, int moves) {
        if (!(where instanceof Place.At at)) {
            return done(places.closed() ? new Outcome.Closed() : new Outcome.SessionGone());
        }
        return switch (message.kind()) {
            case REQUEST -> call(at, message, context, moves);
            case NOTIFICATION -> notify(at, message, context, moves);
            case RESPONSE, ERROR -> answer(at, message, context);
        };
    }

    private CompletionStage<Outcome> call(Place.At at, Envelope request, Object context, int moves) {
        ServerSession.Repeat repeat = overheard.repeat(request);
        return at.session()
                .call(request, repeat, context, overhearing(at, request))
                .thenCompose(outcome -> {
                    if (outcome instanceof Outcome.Closed && !places.closed()) {
                        return done(
                                new Outcome.Unknown("its session is gone", new IOException("replaced twice"), true));
                    }
                    boolean lost = outcome instanceof Outcome.Unknown unknown && unknown.sessionGone();
                    if (!(outcome instanceof Outcome.SessionGone) && !lost) {
                        return done(outcome);
                    }
                    CompletionStage<Place> next = places.replace(at);
                    boolean again = moves < MOST_SESSIONS && (repeat == ServerSession.Repeat.HARMLESS || !lost);
                    return again ? next.thenCompose(now -> sendAt(now, request, context, moves + 1)) : done(outcome);
                });
    }

    /** Learns from answers before the application can act on them. */
    private MessageSink overhearing(Place.At at, Envelope request) {
        MessageSink passing = places.toApplication(at.number());
        return message -> {
            if (message.kind() == Envelope.Kind.RESPONSE && message.id().equals(request.id())) {
                overheard.answered(request, message);
                places.served(at.number());
            }
            return passing.message(message);
        };
    }

    private CompletionStage<Outcome> notify(Place.At at, Envelope notification, Object context, int moves) {
        if (notification.method().equals("notifications/initialized")) {
            introduction.initialized();
        }
        return at.session().post(notification, context).thenCompose(outcome -> {
            if (!(outcome instanceof Outcome.SessionGone)) {
                return done(outcome);
            }
            CompletionStage<Place> next = places.replace(at);
            return aboutTheLostSession(notification) || moves >= MOST_SESSIONS
                    ? done(new Outcome.Done())
                    : next.thenCompose(now -> sendAt(now, notification, context, moves + 1));
        });
    }

    /** What a notification of the lost session says means nothing to another; that of the handshake is said again anyway. */
    private static boolean aboutTheLostSession(Envelope notification) {
        return switch (notification.method()) {
            case "notifications/cancelled", "notifications/progress", "notifications/initialized" -> true;
            default -> false;
        };
    }

    private CompletionStage<Outcome> answer(Place.At at, Envelope answer, Object context) {
        return questions
                .toServer(answer, at.number())
                .map(known -> at.session().post(known, context).thenApply(outcome -> {
                    questions.answered(answer);
                    return outcome instanceof Outcome.SessionGone ? new Outcome.Done() : outcome;
                }))
                .orElseGet(() -> done(new Outcome.Done()));
    }

    private static CompletionStage<Outcome> done(Outcome outcome) {
        return CompletableFuture.completedFuture(outcome);
    }

    /** Ends the session. The stage completes when the server was told, or after 5 s. */
    public CompletionStage<Void> close() {
        return places.close();
    }
}
