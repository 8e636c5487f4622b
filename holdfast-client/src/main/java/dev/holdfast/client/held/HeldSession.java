package dev.holdfast.client.held;

import dev.holdfast.client.Departures;
import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpening.Protocol;
import dev.holdfast.json.Envelope;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The session of an application, which the application begins with {@code initialize} as it would begin any. Thread-safe; holds no
 * thread.
 */
public final class HeldSession {
    /** So often a message goes on to another session; a server that loses every one of them serves nobody. */
    private static final int MOST_SESSIONS = 3;

    private final Overheard overheard = new Overheard();
    private final Questions questions = new Questions();
    private final Introduction introduction = new Introduction();
    private final Places places;
    private final Departures<Place> departures;
    private final UnderWay underWay;

    /**
     * A session that was not begun.
     *
     * @param application takes every message of the server
     */
    public HeldSession(RemoteServer server, Protocol protocol, MessageSink application, HeldWatch watch) {
        this.underWay = new UnderWay(server.limits().inFlight());
        MessageSink guarded = application.guarded();
        Replacement replacement =
                new Replacement(introduction, overheard.settings(), questions, guarded, watch, server);
        this.places = new Places(server, protocol, replacement, introduction, questions, guarded, watch);
        this.departures = new Departures<>(server::later, places::now);
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
        // a copy, so that who gives the stage up does not take the room with it
        return begin(message, context)
                .thenApply(outcome -> outcome.since(places.closed()))
                .toCompletableFuture()
                .copy();
    }

    private CompletionStage<Outcome> begin(Envelope message, Object context) {
        if (message.method().equals("initialize")) {
            return bounded(message, () -> departures.send(message, before -> initialize(message, context)));
        }
        places.seek();
        return switch (message.kind()) {
            case REQUEST -> bounded(message, () -> request(message, context));
            case NOTIFICATION ->
                message.cancelledRequest()
                        .map(id -> cancel(underWay.of(id), message, context))
                        .orElseGet(() ->
                                bounded(message, () -> depart(message, at -> notify(at, message, context, 0))));
            case RESPONSE, ERROR -> bounded(message, () -> depart(message, at -> answer(at, message, context)));
        };
    }

    /** Sends a message if there is room for it, until its outcome is known. */
    private CompletionStage<Outcome> bounded(Envelope message, Supplier<? extends CompletionStage<Outcome>> sending) {
        Optional<Outcome> refused = underWay.take(message);
        return refused.isPresent()
                ? done(refused.get())
                : sending.get().whenComplete((outcome, failure) -> underWay.free(message));
    }

    private CompletionStage<Outcome> initialize(Envelope initialize, Object context) {
        if (places.closed()) {
            return done(new Outcome.Closed());
        }
        overheard.settings().clear();
        return places.initialize(initialize, context);
    }

    /** Sends a message to the session that is there when its turn comes. */
    private CompletionStage<Outcome> depart(
            Envelope message, Function<? super Place.At, ? extends CompletionStage<Outcome>> sending) {
        return departures.send(message, where -> to(where, sending));
    }

    /** Sends a request so, unless it is cancelled meanwhile: whoever cancels it finds it waiting, or is found here. */
    private CompletionStage<Outcome> depart(
            Going going, Function<? super Place.At, ? extends CompletionStage<Outcome>> sending) {
        CompletionStage<Outcome> sent = depart(going.request(), sending);
        if (going.cancelled()) {
            departures.withdraw(going.request());
        }
        return sent;
    }

    private CompletionStage<Outcome> to(
            Place where, Function<? super Place.At, ? extends CompletionStage<Outcome>> sending) {
        if (places.closed()) {
            return done(new Outcome.Closed());
        }
        return where instanceof Place.At at ? sending.apply(at) : done(new Outcome.SessionGone());
    }

    private CompletionStage<Outcome> request(Envelope request, Object context) {
        Going going = underWay.begin(request);
        return depart(going, at -> call(at, going, context, 0)).thenApply(outcome -> {
            underWay.end(going);
            return outcome;
        });
    }

    private CompletionStage<Outcome> call(Place.At at, Going going, Object context, int moves) {
        if (!going.enters()) {
            return done(new Outcome.Cancelled());
        }
        ServerSession.Repeat repeat = overheard.repeat(going.request());
        return enter(at, going, repeat, context).thenCompose(outcome -> {
            boolean retired = outcome instanceof Outcome.Closed && !places.closed();
            boolean lost = outcome instanceof Outcome.Unknown unknown && unknown.sessionGone();
            if (!retired && !lost && !(outcome instanceof Outcome.SessionGone)) {
                return done(outcome);
            }
            going.leaves();
            if (lost) {
                going.told().runsAgain();
            }
            boolean another = !retired
                    && places.replace(at)
                    && moves < MOST_SESSIONS
                    && (repeat == ServerSession.Repeat.HARMLESS || !lost);
            if (going.cancelled()) {
                return done(new Outcome.Cancelled());
            }
            if (retired) {
                return done(new Outcome.Unknown("its session is gone", new IOException("replaced twice"), true));
            }
            if (!another) {
                return done(outcome);
            }
            return depart(going, next -> call(next, going, context, moves + 1))
                    .thenApply(last -> lost && last.notExecuted() ? outcome : last);
        });
    }

    private CompletionStage<Outcome> enter(Place.At at, Going going, ServerSession.Repeat repeat, Object context) {
        try {
            return at.session().call(going.request(), repeat, context, going.told(), overhearing(at, going.request()));
        } finally {
            going.entered(at);
        }
    }

    /** A cancellation goes where its call is, behind it, and nowhere if no session has that. */
    private CompletionStage<Outcome> cancel(List<Going> calls, Envelope cancellation, Object context) {
        if (calls.isEmpty()) {
            return bounded(cancellation, () -> depart(cancellation, at -> notify(at, cancellation, context, 0)));
        }
        calls.forEach(Going::cancel);
        calls.forEach(going -> departures.withdraw(going.request()));
        return calls.stream()
                .flatMap(going -> going.session().stream())
                .findFirst()
                .map(session ->
                        bounded(cancellation, () -> session.thenCompose(at -> notify(at, cancellation, context, 0))))
                .orElseGet(() -> done(new Outcome.Done()));
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
            boolean another = places.replace(at);
            if (aboutTheLostSession(notification) || moves >= MOST_SESSIONS) {
                return done(new Outcome.Done());
            }
            return another
                    ? depart(notification, next -> notify(next, notification, context, moves + 1))
                    : done(outcome);
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
