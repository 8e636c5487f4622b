package dev.holdfast.client.held;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.NotTakenException;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.SendQueue;
import dev.holdfast.client.ServerSession.Repeat;
import dev.holdfast.client.SessionOpener.Protocol;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.client.ToldProgress;
import dev.holdfast.client.held.CurrentSession.Place;
import dev.holdfast.json.Envelope;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The session of an application, which the application begins with {@code initialize} as it would begin any. Thread-safe; holds no
 * thread.
 *
 * <p>The messages that have no outcome yet are bounded: requests by their number, what has no response by its bytes. So no number of calls
 * stops their cancellations, and what the server wants to know.
 */
public final class HeldSession {
    /** So often a message goes on to another session; a server that loses every one of them serves nobody. */
    private static final int MOST_SESSIONS = 3;
    /** What a message costs that has no bytes: its request, and a connection. */
    private static final int MESSAGE_BYTES = 16 << 10;
    /** For each request that may be under way, there is room for a cancellation and an answer. */
    private static final long REQUEST_BYTES = 2 * MESSAGE_BYTES;
    /** So many bytes of messages without a response may wait for their outcome, where few requests may be sent; one may exceed it. */
    private static final long LEAST_BYTES = 32 << 20;

    private final SessionSetup setup = new SessionSetup();
    private final ServerRequests asked = new ServerRequests();
    private final CurrentSession current;
    private final SendQueue<Place> queue;
    private final int mostRequests;
    private final long mostBytes;
    private final AtomicInteger requests = new AtomicInteger();
    private final AtomicLong bytes = new AtomicLong();
    /** Not by their ids: an application that has a response may use its id again before the outcome is known here. */
    private final Set<HeldCall> calls = ConcurrentHashMap.newKeySet();

    /** A request of the application, over all sessions that it is tried in. One that was given up enters no session any more. */
    private static final class HeldCall {
        private final Envelope request;
        private final ToldProgress told = new ToldProgress();
        private Optional<CompletableFuture<Place.At>> session = Optional.empty();
        private boolean cancelled;

        private HeldCall(Envelope request) {
            this.request = request;
        }

        /** A session is about to get it; returns what is to be completed then, or nothing if none must. */
        private synchronized Optional<CompletableFuture<Place.At>> enters() {
            session = cancelled ? Optional.empty() : Optional.of(new CompletableFuture<>());
            return session;
        }

        /** The session has not answered it, and does not have it any more. */
        private synchronized void leaves() {
            session = Optional.empty();
        }

        /** The session that has it; completes when it has it. */
        private synchronized Optional<CompletableFuture<Place.At>> session() {
            return session;
        }

        private synchronized void cancel() {
            cancelled = true;
        }

        private synchronized boolean cancelled() {
            return cancelled;
        }
    }

    /**
     * A session that was not begun.
     *
     * @param application takes every message of the server
     */
    public HeldSession(RemoteServer server, Protocol protocol, MessageSink application, SessionWatch watch) {
        this.mostRequests = server.limits().inFlight();
        this.mostBytes = Math.max(LEAST_BYTES, mostRequests * REQUEST_BYTES);
        this.current = new CurrentSession(server, protocol, setup, asked, application, watch);
        this.queue = new SendQueue<>(server::later, current::now);
    }

    /** Opens the listening stream before there is a session, as servers without sessions allow. */
    public void listen(Object context) {
        current.now().thenAccept(now -> {
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
        if (current.closed()) {
            return done(new Outcome.Closed());
        }
        // a copy, so that who gives the stage up does not take the room with it
        return begin(message, context)
                .thenApply(outcome -> outcome.since(current.closed()))
                .toCompletableFuture()
                .copy();
    }

    private CompletionStage<Outcome> begin(Envelope message, Object context) {
        if (message.method().equals("initialize")) {
            return bounded(message, () -> queue.send(message, before -> initialize(message, context)));
        }
        current.seek();
        return switch (message.kind()) {
            case REQUEST -> bounded(message, () -> request(message, context));
            case NOTIFICATION -> notification(message, context);
            case RESPONSE, ERROR -> bounded(message, () -> enqueue(message, at -> answer(at, message, context)));
        };
    }

    /** Sends a message if there is room for it, until its outcome is known. */
    private CompletionStage<Outcome> bounded(Envelope message, Supplier<CompletionStage<Outcome>> sending) {
        long weight = (long) message.bytes().length + MESSAGE_BYTES;
        if (message.kind() == Envelope.Kind.REQUEST) {
            if (requests.incrementAndGet() > mostRequests) {
                requests.decrementAndGet();
                return notTaken(mostRequests + " requests are under way");
            }
            return sending.get().whenComplete((outcome, failure) -> requests.decrementAndGet());
        }
        if (bytes.getAndAdd(weight) > mostBytes) {
            bytes.addAndGet(-weight);
            return notTaken("more than " + mostBytes + " bytes are under way that have no response");
        }
        return sending.get().whenComplete((outcome, failure) -> bytes.addAndGet(-weight));
    }

    private static CompletionStage<Outcome> notTaken(String reason) {
        return done(new Outcome.NotSent(new NotTakenException(reason)));
    }

    private CompletionStage<Outcome> initialize(Envelope initialize, Object context) {
        return current.closed() ? done(new Outcome.Closed()) : current.initialize(initialize, context);
    }

    /** Sends a message to the session that is there when its turn comes. */
    private CompletionStage<Outcome> enqueue(Envelope message, Function<Place.At, CompletionStage<Outcome>> sending) {
        return queue.send(message, where -> {
            if (current.closed()) {
                return done(new Outcome.Closed());
            }
            return where instanceof Place.At at ? sending.apply(at) : done(new Outcome.SessionGone());
        });
    }

    private CompletionStage<Outcome> request(Envelope request, Object context) {
        HeldCall call = new HeldCall(request);
        calls.add(call);
        return enqueue(call, context, 0).thenApply(outcome -> {
            calls.remove(call);
            return outcome;
        });
    }

    /** Queues a request. A cancellation either finds it in the queue, or was noted before and is found here. */
    private CompletionStage<Outcome> enqueue(HeldCall call, Object context, int moves) {
        CompletionStage<Outcome> sent = enqueue(call.request, at -> call(at, call, context, moves));
        if (call.cancelled()) {
            queue.withdraw(call.request);
        }
        return sent;
    }

    private CompletionStage<Outcome> call(Place.At at, HeldCall call, Object context, int moves) {
        Optional<CompletableFuture<Place.At>> entering = call.enters();
        if (entering.isEmpty()) {
            return done(new Outcome.Cancelled());
        }
        Repeat repeat = setup.repeat(call.request);
        CompletionStage<Outcome> sent;
        try {
            sent = at.session().call(call.request, repeat, context, call.told, overhearing(at, call.request));
        } finally {
            entering.get().complete(at);
        }
        return sent.thenCompose(outcome -> {
            boolean retired = outcome instanceof Outcome.Closed && !current.closed();
            return retired || outcome.sessionLost()
                    ? elsewhere(at, call, repeat, context, outcome, moves)
                    : done(outcome);
        });
    }

    /** Its session is lost, or was closed for another: where it may, the request goes on to the next one. */
    private CompletionStage<Outcome> elsewhere(
            Place.At at, HeldCall call, Repeat repeat, Object context, Outcome outcome, int moves) {
        boolean maybeExecuted = outcome instanceof Outcome.Unknown;
        call.leaves();
        if (maybeExecuted) {
            call.told.runsAgain();
        }
        boolean retired = outcome instanceof Outcome.Closed;
        boolean another = !retired
                && current.replace(at)
                && moves < MOST_SESSIONS
                && (repeat == Repeat.HARMLESS || !maybeExecuted);
        if (call.cancelled()) {
            return done(new Outcome.Cancelled());
        }
        if (retired) {
            return done(new Outcome.Unknown("its session is gone", new IOException("replaced twice"), true));
        }
        return another
                ? enqueue(call, context, moves + 1)
                        .thenApply(last -> maybeExecuted && last.notExecuted() ? outcome : last)
                : done(outcome);
    }

    /** Learns from answers before the application can act on them. */
    private MessageSink overhearing(Place.At at, Envelope request) {
        MessageSink passing = current.toApplication(at.number());
        return message -> {
            if (message.kind() == Envelope.Kind.RESPONSE && message.id().equals(request.id())) {
                setup.answered(request, message);
                current.served(at.number());
            }
            return passing.message(message);
        };
    }

    /** A cancellation follows its call to the session that has it; if none has, it is not sent. */
    private CompletionStage<Outcome> notification(Envelope message, Object context) {
        List<HeldCall> cancelled = message.cancelledRequest().stream()
                .flatMap(id -> calls.stream().filter(call -> call.request.id().equals(Optional.of(id))))
                .toList();
        if (cancelled.isEmpty()) {
            return bounded(message, () -> enqueue(message, at -> notify(at, message, context, 0)));
        }
        cancelled.forEach(HeldCall::cancel);
        cancelled.forEach(call -> queue.withdraw(call.request));
        return cancelled.stream()
                .flatMap(call -> call.session().stream())
                .findFirst()
                .map(session -> bounded(message, () -> session.thenCompose(at -> notify(at, message, context, 0))))
                .orElseGet(() -> done(new Outcome.Done()));
    }

    private CompletionStage<Outcome> notify(Place.At at, Envelope notification, Object context, int moves) {
        if (notification.method().equals("notifications/initialized")) {
            setup.initialized();
        }
        return at.session().post(notification, context).thenCompose(outcome -> {
            if (!(outcome instanceof Outcome.SessionGone)) {
                return done(outcome);
            }
            boolean another = current.replace(at);
            if (aboutTheLostSession(notification) || moves >= MOST_SESSIONS) {
                return done(new Outcome.Done());
            }
            return another
                    ? enqueue(notification, next -> notify(next, notification, context, moves + 1))
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
        return asked.toServer(answer, at.number())
                .map(known -> at.session().post(known, context).thenApply(outcome -> {
                    asked.answered(answer);
                    return outcome instanceof Outcome.SessionGone ? new Outcome.Done() : outcome;
                }))
                .orElseGet(() -> done(new Outcome.Done()));
    }

    private static CompletionStage<Outcome> done(Outcome outcome) {
        return CompletableFuture.completedFuture(outcome);
    }

    /** Ends the session. The stage completes when the server was told, or after 5 s. */
    public CompletionStage<Void> close() {
        return current.close();
    }
}
