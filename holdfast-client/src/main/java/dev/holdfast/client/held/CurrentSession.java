package dev.holdfast.client.held;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.RetryPolicy;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpener;
import dev.holdfast.client.SessionOpener.Protocol;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.client.Throttle;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.OutboundMessage;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The session at the server that an application uses now: one that is lost is replaced by another, which is brought to where the first
 * was, and the application is told what it may have missed. Thread-safe; holds no thread.
 */
final class CurrentSession {
    private static final EnvelopeReader ENVELOPES = new EnvelopeReader();
    private static final Envelope INITIALIZED =
            ENVELOPES.message(JsonRpc.notification("notifications/initialized", ""));

    /** How many sessions may be lost while the application's own {@code initialize} is under way. */
    private static final int MOST_LOST = 3;
    /** A session that is lost sooner than this after its opening is replaced with a delay. */
    private static final long PROOF_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** Gaps that come faster than this are told together: each telling makes an application ask for all lists again. */
    private static final Duration LEAST_BETWEEN_GAPS = Duration.ofSeconds(10);

    private final RemoteServer server;
    private final Protocol protocol;
    private final SessionSetup setup;
    private final ServerRequests asked;
    private final MessageSink application;
    private final SessionWatch watch;
    private final Throttle gaps;
    private final AtomicReference<CompletableFuture<Place>> place;
    /** The session before this one, in which calls may still run. */
    private final AtomicReference<Place> retired = new AtomicReference<>(new Place.Lost(-1));

    /** What is opening a session; kept to be closed. */
    private final AtomicReference<@Nullable SessionOpener> opening = new AtomicReference<>();

    /** The number of the newest session that was begun: none is given twice. */
    private final AtomicInteger newest = new AtomicInteger();

    /**
     * When the server went away for the application, by {@link System#nanoTime}: over all sessions, so that one that is given up meanwhile
     * does not take the end of the outage with it.
     */
    private final AtomicReference<@Nullable Long> awaySince = new AtomicReference<>();

    private final CompletableFuture<Void> told = new CompletableFuture<>();
    private volatile boolean closed;

    /** Delays the replacement of a session that was lost within 10 s of its opening without having answered a call. Guarded by this. */
    private final RetryPolicy pace;

    private long openedAt = System.nanoTime() - PROOF_NANOS;
    private int opened;
    private boolean served;
    private boolean replaced;

    /** Where the application's session is at its server. */
    sealed interface Place {
        /** Which of the sessions at the server it is, from 0 on. */
        int number();

        /** A session at the server, ready. */
        record At(int number, ServerSession session) implements Place {}

        /** The session at the server is lost, and no other could be opened. */
        record Lost(int number) implements Place {}
    }

    CurrentSession(
            RemoteServer server,
            Protocol protocol,
            SessionSetup setup,
            ServerRequests asked,
            MessageSink application,
            SessionWatch watch) {
        this.server = server;
        this.protocol = protocol;
        this.setup = setup;
        this.asked = asked;
        this.application = guarded(application);
        this.watch = watch;
        this.pace = server.retryPolicy(SessionWatch.NONE);
        this.gaps = new Throttle(LEAST_BETWEEN_GAPS, server::later, this::tellOfMissedChanges);
        this.place = new AtomicReference<>(
                CompletableFuture.completedFuture(new Place.At(0, opener(0).unopened())));
    }

    /** The same sink, whose stage fails where this one throws. */
    private static MessageSink guarded(MessageSink application) {
        return message -> {
            try {
                return application.message(message);
            } catch (RuntimeException | Error e) {
                return CompletableFuture.failedFuture(e);
            }
        };
    }

    /** Where the session is; completes when one that is being opened is there. */
    CompletableFuture<Place> now() {
        return Objects.requireNonNull(place.get());
    }

    boolean closed() {
        return closed;
    }

    /** Passes on what the session of this number says. */
    MessageSink toApplication(int number) {
        return message -> application.message(asked.toApplication(message, number));
    }

    private SessionOpener opener(int number) {
        return new SessionOpener(server, toApplication(number), new ConnectionWatch(number));
    }

    /** Begins to open a session, which {@link #close} can end. */
    private SessionOpener begin(int number) {
        newest.accumulateAndGet(number, Math::max);
        SessionOpener begun = opener(number);
        opening.set(begun);
        if (closed) {
            begun.close();
        }
        return begun;
    }

    /** Opens a session with this {@code initialize} of the application, in the place of the one before. The stage never fails. */
    CompletionStage<Outcome> initialize(Envelope initialize, Object context) {
        CompletableFuture<Place> next = new CompletableFuture<>();
        CompletableFuture<Place> before = Objects.requireNonNull(place.getAndSet(next));
        setup.begin(initialize, context);
        return before.thenCompose(old -> {
            CompletionStage<Void> unused = close(old);
            boolean first = old.number() == 0
                    && old instanceof Place.At at
                    && at.session().id().isEmpty();
            forgive();
            return initialize(initialize, context, first ? 0 : old.number() + 1, next, MOST_LOST);
        });
    }

    /** Opens a session; another, where it is lost before it is there. */
    private CompletionStage<Outcome> initialize(
            Envelope initialize, Object context, int number, CompletableFuture<Place> next, int more) {
        MessageSink sink = message -> {
            if (message.kind() == Envelope.Kind.RESPONSE && message.id().equals(initialize.id())) {
                setup.negotiated(message);
            }
            return application.message(asked.toApplication(message, number));
        };
        return begin(number)
                .open(protocol, initialize, context, sink)
                .exceptionally(failure -> new SessionOpener.NotOpened(new Outcome.NotSent(failure)))
                .thenCompose(result -> {
                    boolean lost = result instanceof SessionOpener.NotOpened not
                            && not.outcome().sessionLost()
                            && !closed;
                    OptionalLong wait = more > 0 && lost ? lostAgain() : OptionalLong.empty();
                    if (wait.isEmpty()) {
                        return CompletableFuture.completedFuture(initialized(result, number, next));
                    }
                    CompletableFuture<Outcome> outcome = new CompletableFuture<>();
                    Future<?> unused = server.later(
                            wait.getAsLong(),
                            () -> initialize(initialize, context, number + 1, next, more - 1)
                                    .thenAccept(outcome::complete));
                    return outcome;
                });
    }

    private Outcome initialized(SessionOpener.Result result, int number, CompletableFuture<Place> next) {
        if (result instanceof SessionOpener.Opened open) {
            arrived(next, new Place.At(number, open.session()));
            back();
            return new Outcome.Done();
        }
        arrived(next, new Place.At(number, opener(number).unopened()));
        return ((SessionOpener.NotOpened) result).outcome();
    }

    /** Lets the messages that wait for the session go on; closes it if the application has ended it meanwhile. */
    private void arrived(CompletableFuture<Place> next, Place found) {
        opening.set(null);
        opened(found.number());
        if (!next.complete(found)) {
            CompletionStage<Void> unused = close(found);
        }
    }

    /** Asks for another session where the last attempt to open one has failed. */
    void seek() {
        CompletableFuture<Place> current = now();
        if (current.isDone() && current.join() instanceof Place.Lost lost) {
            replace(lost);
        }
    }

    /** Replaces a lost session, once however many callers miss it. False if there will be no other. */
    boolean replace(Place missed) {
        if (closed || setup.handshake().isEmpty()) {
            return false;
        }
        CompletableFuture<Place> current = now();
        if (!current.isDone() || current.join().number() != missed.number()) {
            return true;
        }
        CompletableFuture<Place> next = new CompletableFuture<>();
        if (!place.compareAndSet(current, next)) {
            return replace(missed);
        }
        if (missed instanceof Place.At) {
            CompletionStage<Void> unused = close(Objects.requireNonNull(retired.getAndSet(missed)));
        }
        OptionalLong wait = lost();
        if (wait.isEmpty()) {
            next.complete(lostTooOften(missed.number() + 1));
        } else if (wait.getAsLong() == 0) {
            replaceNow(missed.number() + 1, next);
        } else {
            Future<?> unused = server.later(wait.getAsLong(), () -> replaceNow(missed.number() + 1, next));
        }
        return true;
    }

    private Place lostTooOften(int number) {
        watch.failed(new IOException("the server loses each session as soon as it is opened"));
        return new Place.Lost(number);
    }

    private void replaceNow(int number, CompletableFuture<Place> next) {
        CompletableFuture<Place> deadline = new CompletableFuture<>();
        Future<?> late = server.later(
                server.limits().retryTimeout().toMillis(), () -> deadline.complete(new Place.Lost(newest.get())));
        attempt(number, deadline);
        deadline.thenAccept(found -> {
            late.cancel(false);
            arrived(next, found);
            if (found instanceof Place.At at) {
                awaySince.set(null);
                asked.giveUpBefore(at.number()).forEach(application::message);
                watch.sessionReplaced();
                tellOfMissedChanges();
            }
        });
    }

    /** Opens a session and restores it; tries another one if that is lost meanwhile, until the deadline. */
    private void attempt(int number, CompletableFuture<Place> deadline) {
        if (closed) {
            deadline.complete(new Place.Lost(number));
        }
        if (deadline.isDone()) {
            return;
        }
        SessionOpener begun = begin(number)
                .in(retired.get() instanceof Place.At lost ? lost.session().successor() : Optional.empty());
        deadline.thenAccept(found -> {
            if (found instanceof Place.Lost) {
                begun.close();
            }
        });
        SessionSetup.Handshake said = setup.handshake().orElseThrow();
        Envelope initialize = setup.ownCopy(said.initialize());
        CompletableFuture<Envelope> answer = new CompletableFuture<>();
        begun.open(protocol, initialize, said.context(), swallowing(initialize, answer, number))
                .thenCompose(result -> {
                    if (!(result instanceof SessionOpener.Opened open)) {
                        return CompletableFuture.completedFuture(
                                notOpened(((SessionOpener.NotOpened) result).outcome()));
                    }
                    negotiated(answer.join());
                    return restore(open.session(), said.context(), number).thenApply(outcome -> {
                        if (outcome instanceof Outcome.Done) {
                            deadline.complete(new Place.At(number, open.session()));
                        }
                        return outcome;
                    });
                })
                .exceptionally(Outcome.NotSent::new)
                .thenAccept(outcome -> attempted(outcome, number, begun, deadline));
    }

    private void attempted(Outcome outcome, int number, SessionOpener begun, CompletableFuture<Place> deadline) {
        if (outcome instanceof Outcome.Done) {
            return;
        }
        if (!outcome.sessionLost() || closed) {
            deadline.complete(new Place.Lost(number));
            return;
        }
        begun.close();
        OptionalLong wait = lostAgain();
        if (wait.isEmpty()) {
            deadline.complete(lostTooOften(number));
        } else {
            Future<?> unused = server.later(wait.getAsLong(), () -> attempt(number + 1, deadline));
        }
    }

    private Outcome notOpened(Outcome outcome) {
        if (!outcome.sessionLost() && !(outcome instanceof Outcome.Closed)) {
            watch.failed(new IOException("the session is lost, and the server does not open another: " + outcome));
        }
        // the server may have answered with an error
        return outcome instanceof Outcome.Done ? new Outcome.Unreadable("the server answered with an error") : outcome;
    }

    /** The application goes on in the revision that it was told of. */
    private void negotiated(Envelope answer) {
        setup.promised(answer);
        String before = setup.revision().orElse("none");
        String now = answer.protocolVersion().orElse("none");
        if (!now.equals(before)) {
            watch.failed(new IOException("the session that replaces the lost one is of revision " + now
                    + ", and the application speaks " + before));
        }
    }

    /** Sends {@code initialized} and the settings of the application, until the session cannot be reached. */
    private CompletionStage<Outcome> restore(ServerSession session, Object context, int number) {
        CompletionStage<Outcome> done = CompletableFuture.completedFuture(new Outcome.Done());
        if (setup.isInitialized()) {
            done = session.post(INITIALIZED, context).thenApply(outcome -> restored("initialized", outcome));
        }
        for (Envelope setting : setup.settings()) {
            done = done.thenCompose(before -> before instanceof Outcome.Done
                    ? restore(session, setting, context, number)
                    : CompletableFuture.completedFuture(before));
        }
        return done;
    }

    private CompletionStage<Outcome> restore(ServerSession session, Envelope setting, Object context, int number) {
        Envelope request = setup.ownCopy(setting);
        CompletableFuture<Envelope> answer = new CompletableFuture<>();
        return session.call(request, ServerSession.Repeat.HARMLESS, context, swallowing(request, answer, number))
                .thenApply(outcome -> {
                    boolean refused = answer.isDone() && answer.join().kind() == Envelope.Kind.ERROR;
                    return restored(
                            setting.method(),
                            refused ? new Outcome.Unreadable("the server answered with an error") : outcome);
                });
    }

    /** A setting that the server refuses is missing from now on; one that does not reach it ends the attempt. */
    private Outcome restored(String what, Outcome outcome) {
        boolean reached = outcome instanceof Outcome.Done
                || outcome instanceof Outcome.Unreadable
                || outcome instanceof Outcome.Refused;
        boolean quiet = outcome instanceof Outcome.Done || outcome instanceof Outcome.Closed || outcome.sessionLost();
        if (!quiet) {
            watch.failed(new IOException("in the session that replaces the lost one, " + what + " failed: " + outcome));
        }
        return reached ? new Outcome.Done() : outcome;
    }

    /** Keeps the answer to a request of this class from the application. */
    private MessageSink swallowing(Envelope request, CompletableFuture<Envelope> answer, int number) {
        MessageSink others = toApplication(number);
        return message -> {
            if (message.kind() != Envelope.Kind.REQUEST && message.id().equals(request.id())) {
                answer.complete(message);
                return CompletableFuture.completedFuture(null);
            }
            return others.message(message);
        };
    }

    /** Tells the application of the changes that it may have missed: lists that the server watches, resources that it subscribed to. */
    private void tellOfMissedChanges() {
        if (!setup.isInitialized() || closed) {
            return;
        }
        for (OutboundMessage changed : JsonRpc.MESSAGES.listsChanged(setup.promised())) {
            CompletionStage<Void> unused = application.message(ENVELOPES.message(changed.bytes()));
        }
        for (String uri : setup.subscribed()) {
            CompletionStage<Void> unused = application.message(ENVELOPES.message(JsonRpc.resourceUpdated(uri)));
        }
    }

    /** Hears what happens to one session at the server. */
    private final class ConnectionWatch implements SessionWatch {
        private final int number;

        private ConnectionWatch(int number) {
            this.number = number;
        }

        @Override
        public void reconnecting(Throwable cause) {
            if (number >= newest.get() && awaySince.compareAndSet(null, System.nanoTime())) {
                watch.reconnecting(cause);
            }
        }

        @Override
        public void resumed(Duration lasted) {
            if (number >= newest.get()) {
                back();
            }
        }

        @Override
        public void gap() {
            watch.gap();
            if (setup.isInitialized() && !closed) {
                gaps.ask();
            }
        }

        @Override
        public void gone(Object session) {
            if (now().getNow(new Place.Lost(-1)) instanceof Place.At at && at.session() == session) {
                replace(at);
            }
        }

        @Override
        public void failed(Throwable failure) {
            watch.failed(failure);
        }
    }

    private void back() {
        Long begun = awaySince.getAndSet(null);
        if (begun != null) {
            watch.resumed(Duration.ofNanos(System.nanoTime() - begun));
        }
    }

    /** The application opens a session: what failed before does not count. */
    private synchronized void forgive() {
        pace.succeeded();
    }

    private synchronized void opened(int number) {
        opened = number;
        served = false;
        openedAt = System.nanoTime();
    }

    /** A call of the application was answered in the session of this number. */
    synchronized void served(int number) {
        served |= number == opened;
    }

    /** In how many milliseconds a session that was lost now may be replaced; empty if no more should be tried. */
    private synchronized OptionalLong lost() {
        boolean soon = replaced && !served && System.nanoTime() - openedAt < PROOF_NANOS;
        replaced = true;
        if (soon) {
            return pace.failed(0);
        }
        pace.succeeded();
        return OptionalLong.of(0);
    }

    /** In how many milliseconds to try again where a session was lost before it was there; empty if no more should be tried. */
    synchronized OptionalLong lostAgain() {
        return pace.failed(0);
    }

    private static CompletionStage<Void> close(Place where) {
        return where instanceof Place.At at ? at.session().close() : CompletableFuture.completedFuture(null);
    }

    /** Ends the session, once. The stage completes when the server was told, or after 5 s. */
    CompletionStage<Void> close() {
        synchronized (this) {
            if (closed) {
                return told.copy();
            }
            closed = true;
        }
        CompletionStage<Void> unused = close(Objects.requireNonNull(retired.get()));
        now().complete(new Place.Lost(Integer.MAX_VALUE));
        SessionOpener begun = opening.getAndSet(null);
        if (begun != null) {
            begun.close();
        }
        close(now().getNow(new Place.Lost(-1))).whenComplete((done, failure) -> told.complete(null));
        return told.copy();
    }
}
