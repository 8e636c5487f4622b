package dev.holdfast.client.held;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.NotTakenException;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpening;
import dev.holdfast.client.SessionOpening.Protocol;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
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
    private final Overheard overheard = new Overheard();
    private final Questions questions = new Questions();
    private final Introduction introduction = new Introduction();
    private final Replacement replacement;
    private final AtomicReference<CompletableFuture<Place>> place;
    private final AtomicInteger underWay = new AtomicInteger();
    /** The session before this one, in which calls may still run. */
    private final AtomicReference<@Nullable ServerSession> retired = new AtomicReference<>();

    /** What is opening a session; kept to be closed. */
    private final AtomicReference<@Nullable SessionOpening> opening = new AtomicReference<>();

    private volatile boolean closed;

    /**
     * A session that was not begun.
     *
     * @param application takes every message of the server
     */
    public HeldSession(RemoteServer server, Protocol protocol, MessageSink application, HeldWatch watch) {
        this.server = server;
        this.protocol = protocol;
        this.application = application.guarded();
        this.watch = watch;
        this.replacement = new Replacement(
                introduction, overheard.settings(), questions, this.application, watch, server.patience());
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
            return done(
                    new Outcome.NotSent(new NotTakenException(server.limits().inFlight() + " messages are under way")));
        }
        return begin(message, context).thenApply(outcome -> {
            underWay.decrementAndGet();
            return outcome.since(closed);
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
        overheard.settings().clear();
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
            SessionOpening begun = begin(number);
            return begun.open(protocol, initialize, context, sink).handle((result, failure) -> {
                Place found = result instanceof SessionOpening.Opened opened
                        ? new Place.At(number, opened.session())
                        : new Place.At(number, opening(number).unopened());
                arrived(next, found);
                if (result instanceof SessionOpening.NotOpened not) {
                    return not.outcome();
                }
                return failure == null ? new Outcome.Done() : new Outcome.NotSent(failure);
            });
        });
    }

    /** Begins to open a session, which {@link #close} can end. */
    private SessionOpening begin(int number) {
        SessionOpening begun = opening(number);
        opening.set(begun);
        if (closed) {
            begun.close();
        }
        return begun;
    }

    /** The session is there now; what waits for it goes on. */
    private void arrived(CompletableFuture<Place> next, Place found) {
        opening.set(null);
        replacement.opened(found.number());
        if (closed && found instanceof Place.At at) {
            close(at.session());
        }
        next.complete(found);
    }

    private void learnPromises(Envelope initialize, Envelope message) {
        if (message.kind() == Envelope.Kind.RESPONSE && message.id().equals(initialize.id())) {
            introduction.promised(JsonRpc.MESSAGES.introduction(message.bytes()).lists());
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
        ServerSession.Repeat repeat = overheard.repeat(request);
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
                    boolean again = moves < MOST_SESSIONS && (repeat == ServerSession.Repeat.HARMLESS || !lost);
                    return again ? next.thenCompose(now -> sendAt(now, request, context, moves + 1)) : done(outcome);
                });
    }

    /** Learns from answers before the application can act on them. */
    private MessageSink overhearing(Place.At at, Envelope request) {
        MessageSink passing = toApplication(at.number());
        return message -> {
            if (message.kind() == Envelope.Kind.RESPONSE && message.id().equals(request.id())) {
                overheard.answered(request, message);
                replacement.served(at.number());
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
        OptionalLong wait = replacement.lost();
        if (wait.isEmpty()) {
            next.complete(lostTooOften(missed.number() + 1));
        } else if (wait.getAsLong() == 0) {
            replaceNow(missed.number() + 1, next);
        } else {
            Future<?> unused = server.later(wait.getAsLong(), () -> replaceNow(missed.number() + 1, next));
        }
        return next;
    }

    private Place lostTooOften(int number) {
        watch.failed(new IOException("the server loses each session as soon as it is opened"));
        return new Place.Lost(number);
    }

    private void replaceNow(int number, CompletableFuture<Place> next) {
        CompletableFuture<Place> deadline = new CompletableFuture<>();
        Future<?> late =
                server.later(server.limits().patience().toMillis(), () -> deadline.complete(new Place.Lost(number)));
        attempt(number, deadline);
        deadline.thenAccept(found -> {
            late.cancel(false);
            arrived(next, found);
            if (found instanceof Place.At at) {
                replacement.tell(at.number());
            }
        });
    }

    /** Tries to open a session, and another where that is lost before it is there, until the deadline. */
    private void attempt(int number, CompletableFuture<Place> deadline) {
        if (deadline.isDone()) {
            return;
        }
        SessionOpening begun = begin(number);
        deadline.thenAccept(found -> {
            if (found instanceof Place.Lost) {
                begun.close();
            }
        });
        replacement
                .open(begun, protocol, number, toApplication(number))
                .exceptionally(failure -> new Attempt.Failed())
                .thenAccept(how -> attempted(how, number, begun, deadline));
    }

    private void attempted(Attempt how, int number, SessionOpening begun, CompletableFuture<Place> deadline) {
        if (how instanceof Attempt.Arrived arrived) {
            deadline.complete(arrived.place());
        } else if (how instanceof Attempt.Failed || closed) {
            deadline.complete(new Place.Lost(number));
        } else {
            begun.close();
            OptionalLong wait = replacement.lostAgain();
            if (wait.isEmpty()) {
                deadline.complete(lostTooOften(number));
            } else {
                Future<?> unused = server.later(wait.getAsLong(), () -> attempt(number + 1, deadline));
            }
        }
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
        here().complete(new Place.Lost(Integer.MAX_VALUE));
        SessionOpening begun = opening.getAndSet(null);
        if (begun != null) {
            begun.close();
        }
        Place at = here().getNow(new Place.Lost(-1));
        return at instanceof Place.At open ? open.session().close() : CompletableFuture.completedFuture(null);
    }
}
