package dev.holdfast.client.held;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpening;
import dev.holdfast.client.SessionOpening.Protocol;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.RepeatRules;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The session of an application, which the application begins with {@code initialize} as it would begin any. Thread-safe; holds no
 * thread.
 */
public final class HeldSession {
    /** So often a message goes on to another session; a server that loses every one of them serves nobody. */
    private static final int MOST_SESSIONS = 3;

    private final RemoteServer server;
    private final Protocol protocol;
    private final MessageSink application;
    private final HeldWatch watch;
    private final RepeatRules rules = new RepeatRules();
    private final Settings settings = new Settings();
    private final Questions questions = new Questions();
    private final Introduction introduction = new Introduction();
    private final Replacement replacement;
    private final AtomicReference<CompletableFuture<Place>> place;
    private final AtomicInteger underWay = new AtomicInteger();
    /** The session before this one, in which calls may still run. */
    private final AtomicReference<@Nullable ServerSession> retired = new AtomicReference<>();

    private volatile boolean closed;

    /**
     * A session that was not begun.
     *
     * @param application takes every message of the server
     */
    public HeldSession(RemoteServer server, Protocol protocol, MessageSink application, HeldWatch watch) {
        this.server = server;
        this.protocol = protocol;
        this.application = application;
        this.watch = watch;
        this.replacement = new Replacement(introduction, settings, questions, application, watch);
        this.place = new AtomicReference<>(
                CompletableFuture.completedFuture(new Place.At(0, opening(0).unopened())));
    }

    private CompletableFuture<Place> here() {
        return Objects.requireNonNull(place.get());
    }

    private SessionOpening opening(int number) {
        return new SessionOpening(server, toApplication(number), new PlaceWatch(number));
    }

    /** Passes on what a session at the server says. */
    private MessageSink toApplication(int number) {
        return message -> application.message(questions.toApplication(message, number));
    }

    /** Hears what happens to one session at the server. */
    private final class PlaceWatch implements SessionWatch {
        private final int number;

        private PlaceWatch(int number) {
            this.number = number;
        }

        @Override
        public void reconnecting(Throwable cause) {
            watch.reconnecting(cause);
        }

        @Override
        public void resumed(Duration away) {
            watch.resumed(away);
        }

        @Override
        public void gap() {
            watch.gap();
            replacement.tellOfMissedChanges();
        }

        @Override
        public void gone() {
            if (here().getNow(new Place.Lost(-1)) instanceof Place.At at && at.number() == number) {
                CompletionStage<Place> unused = replace(at);
            }
        }

        @Override
        public void failed(Throwable failure) {
            watch.failed(failure);
        }
    }

    /** Opens the listening stream before there is a session, as servers without sessions allow. */
    public void listen(Object context) {
        here().thenAccept(now -> {
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
        if (closed) {
            return done(new Outcome.Closed());
        }
        if (underWay.incrementAndGet() > server.limits().inFlight()) {
            underWay.decrementAndGet();
            return done(new Outcome.NotSent(new IOException(server.limits().inFlight() + " messages are under way")));
        }
        return begin(message, context).thenApply(outcome -> {
            underWay.decrementAndGet();
            return outcome;
        });
    }

    private CompletionStage<Outcome> begin(Envelope message, Object context) {
        if (message.method().equals("initialize")) {
            return initialize(message, context);
        }
        CompletableFuture<Place> now = here();
        if (now.getNow(new Place.Lost(-1)) instanceof Place.Lost lost && now.isDone()) {
            return replace(lost).thenCompose(next -> sendAt(next, message, context, 1));
        }
        return now.thenCompose(at -> sendAt(at, message, context, 0));
    }

    private CompletionStage<Outcome> initialize(Envelope initialize, Object context) {
        CompletableFuture<Place> next = new CompletableFuture<>();
        CompletableFuture<Place> before = Objects.requireNonNull(place.getAndSet(next));
        introduction.said(initialize, context);
        settings.clear();
        return before.thenCompose(old -> {
            if (old instanceof Place.At at) {
                close(at.session());
            }
            boolean first = old.number() == 0
                    && old instanceof Place.At at
                    && at.session().id().isEmpty();
            int number = first ? 0 : old.number() + 1;
            MessageSink sink = message -> {
                learnPromises(initialize, message);
                return application.message(questions.toApplication(message, number));
            };
            return opening(number).open(protocol, initialize, context, sink).thenApply(result -> {
                if (result instanceof SessionOpening.Opened opened) {
                    next.complete(new Place.At(number, opened.session()));
                    closeIfClosed(opened.session());
                    return new Outcome.Done();
                }
                next.complete(new Place.At(number, opening(number).unopened()));
                return ((SessionOpening.NotOpened) result).outcome();
            });
        });
    }

    private void learnPromises(Envelope initialize, Envelope message) {
        if (message.kind() == Envelope.Kind.RESPONSE && message.id().equals(initialize.id())) {
            introduction.promised(JsonRpc.MESSAGES.introduction(message.bytes()).lists());
        }
    }

    private void closeIfClosed(ServerSession session) {
        if (closed) {
            close(session);
        }
    }

    private CompletionStage<Outcome> sendAt(Place where, Envelope message, Object context, int moves) {
        if (!(where instanceof Place.At at)) {
            return done(closed ? new Outcome.Closed() : new Outcome.SessionGone());
        }
        return switch (message.kind()) {
            case REQUEST -> call(at, message, context, moves);
            case NOTIFICATION -> notify(at, message, context, moves);
            case RESPONSE, ERROR -> answer(at, message, context);
        };
    }

    private CompletionStage<Outcome> call(Place.At at, Envelope request, Object context, int moves) {
        boolean harmless =
                Settings.METHODS.contains(request.method()) || rules.harmless("", request.method(), request.bytes());
        ServerSession.Repeat repeat = harmless ? ServerSession.Repeat.HARMLESS : ServerSession.Repeat.NEVER;
        return at.session()
                .call(request, repeat, context, overhearing(at, request))
                .thenCompose(outcome -> {
                    if (outcome instanceof Outcome.Closed && !closed) {
                        return done(
                                new Outcome.Unknown("its session is gone", new IOException("replaced twice"), true));
                    }
                    boolean lost = outcome instanceof Outcome.Unknown unknown && unknown.sessionGone();
                    if (!(outcome instanceof Outcome.SessionGone) && !lost) {
                        return done(outcome);
                    }
                    CompletionStage<Place> next = replace(at);
                    boolean again = moves < MOST_SESSIONS && (harmless || !lost);
                    return again ? next.thenCompose(now -> sendAt(now, request, context, moves + 1)) : done(outcome);
                });
    }

    /** Learns from answers before the application can act on them. */
    private MessageSink overhearing(Place.At at, Envelope request) {
        MessageSink passing = toApplication(at.number());
        return message -> {
            if (message.kind() == Envelope.Kind.RESPONSE && message.id().equals(request.id())) {
                settings.accepted(request);
                if (request.method().equals(RepeatRules.TOOLS_LIST)) {
                    rules.learn("", message.bytes());
                }
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
            CompletionStage<Place> next = replace(at);
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

    /** Opens another session at the server, once for all who miss this one. */
    private CompletionStage<Place> replace(Place missed) {
        CompletableFuture<Place> now = here();
        boolean replacedAlready = !now.isDone() || now.join().number() != missed.number();
        if (replacedAlready || closed || introduction.said().isEmpty()) {
            return closed || introduction.said().isEmpty()
                    ? CompletableFuture.completedFuture(new Place.Lost(missed.number()))
                    : now;
        }
        CompletableFuture<Place> next = new CompletableFuture<>();
        if (!place.compareAndSet(now, next)) {
            return replace(missed);
        }
        if (missed instanceof Place.At old) {
            close(retired.getAndSet(old.session()));
        }
        int number = missed.number() + 1;
        replacement
                .open(opening(number), protocol, number, toApplication(number))
                .thenAccept(found -> {
                    next.complete(found);
                    if (found instanceof Place.At at) {
                        closeIfClosed(at.session());
                        replacement.tell();
                    }
                });
        return next;
    }

    private static void close(@Nullable ServerSession session) {
        if (session != null) {
            CompletionStage<Void> unused = session.close();
        }
    }

    private static CompletionStage<Outcome> done(Outcome outcome) {
        return CompletableFuture.completedFuture(outcome);
    }

    /** Ends the session. The stage completes when the server was told, or after 5 s. */
    public CompletionStage<Void> close() {
        closed = true;
        close(retired.getAndSet(null));
        Place at = here().getNow(new Place.Lost(-1));
        return at instanceof Place.At open ? open.session().close() : CompletableFuture.completedFuture(null);
    }
}
