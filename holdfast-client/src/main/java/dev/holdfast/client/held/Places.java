package dev.holdfast.client.held;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpening;
import dev.holdfast.client.SessionOpening.Protocol;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.json.Envelope;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Where the session of an application is: the sessions that were opened for it at its server, each in the place of the one before.
 * Thread-safe; holds no thread.
 */
final class Places {
    /** So many sessions may be lost before one is there for the application. */
    private static final int MOST_LOST = 3;

    private final RemoteServer server;
    private final Protocol protocol;
    private final Replacement replacement;
    private final Introduction introduction;
    private final Questions questions;
    private final MessageSink application;
    private final HeldWatch watch;
    private final Away away;
    private final AtomicReference<CompletableFuture<Place>> place;
    /** The session before this one, in which calls may still run. */
    private final AtomicReference<@Nullable ServerSession> retired = new AtomicReference<>();

    /** What is opening a session; kept to be closed. */
    private final AtomicReference<@Nullable SessionOpening> opening = new AtomicReference<>();

    /** The number of the newest session that was begun: none is given twice. */
    private final AtomicInteger newest = new AtomicInteger();

    private final CompletableFuture<Void> told = new CompletableFuture<>();
    private volatile boolean closed;

    /** A place where no session was opened. */
    Places(
            RemoteServer server,
            Protocol protocol,
            Replacement replacement,
            Introduction introduction,
            Questions questions,
            MessageSink application,
            HeldWatch watch) {
        this.server = server;
        this.protocol = protocol;
        this.replacement = replacement;
        this.introduction = introduction;
        this.questions = questions;
        this.application = application;
        this.watch = watch;
        this.away = new Away(watch);
        this.place = new AtomicReference<>(
                CompletableFuture.completedFuture(new Place.At(0, opening(0).unopened())));
    }

    /** Where the session is; completes when one that is being opened is there. */
    CompletableFuture<Place> now() {
        return Objects.requireNonNull(place.get());
    }

    /** Whether the application has ended its session. */
    boolean closed() {
        return closed;
    }

    /** A call of the application was answered in the session of this number. */
    void served(int number) {
        replacement.served(number);
    }

    /** Passes on what the session of this number says. */
    MessageSink toApplication(int number) {
        return message -> application.message(questions.toApplication(message, number));
    }

    private SessionOpening opening(int number) {
        return new SessionOpening(server, toApplication(number), new PlaceWatch(number));
    }

    /** Hears what happens to one session at the server. */
    private final class PlaceWatch implements SessionWatch {
        private final int number;

        private PlaceWatch(int number) {
            this.number = number;
        }

        @Override
        public void reconnecting(Throwable cause) {
            if (isNewest()) {
                away.broke(cause);
            }
        }

        @Override
        public void resumed(Duration lasted) {
            if (isNewest()) {
                away.back();
            }
        }

        private boolean isNewest() {
            return number >= newest.get();
        }

        @Override
        public void gap() {
            watch.gap();
            replacement.gap();
        }

        @Override
        public void gone() {
            if (now().getNow(new Place.Lost(-1)) instanceof Place.At at && at.number() == number) {
                replace(at);
            }
        }

        @Override
        public void failed(Throwable failure) {
            watch.failed(failure);
        }
    }

    /** Opens a session with this {@code initialize} of the application, in the place of the one before. The stage never fails. */
    CompletionStage<Outcome> initialize(Envelope initialize, Object context) {
        CompletableFuture<Place> next = new CompletableFuture<>();
        CompletableFuture<Place> before = Objects.requireNonNull(place.getAndSet(next));
        introduction.said(initialize, context);
        return before.thenCompose(old -> {
            if (old instanceof Place.At at) {
                close(at.session());
            }
            boolean first = old.number() == 0
                    && old instanceof Place.At at
                    && at.session().id().isEmpty();
            replacement.introduced();
            return introduce(initialize, context, first ? 0 : old.number() + 1, next, MOST_LOST);
        });
    }

    /** Opens a session; another, where it is lost before it is there. */
    private CompletionStage<Outcome> introduce(
            Envelope initialize, Object context, int number, CompletableFuture<Place> next, int more) {
        MessageSink sink = message -> {
            learnPromises(initialize, message);
            return application.message(questions.toApplication(message, number));
        };
        return begin(number)
                .open(protocol, initialize, context, sink)
                .exceptionally(failure -> new SessionOpening.NotOpened(new Outcome.NotSent(failure)))
                .thenCompose(result -> {
                    OptionalLong wait = more > 0 ? untilAnother(result) : OptionalLong.empty();
                    if (wait.isEmpty()) {
                        return CompletableFuture.completedFuture(introduced(result, number, next));
                    }
                    CompletableFuture<Outcome> outcome = new CompletableFuture<>();
                    Future<?> unused = server.later(
                            wait.getAsLong(),
                            () -> introduce(initialize, context, number + 1, next, more - 1)
                                    .thenAccept(outcome::complete));
                    return outcome;
                });
    }

    /** How long to wait before another session is opened in the place of one that was lost; empty if none should be. */
    private OptionalLong untilAnother(SessionOpening.Result result) {
        boolean lost = result instanceof SessionOpening.NotOpened not
                && Attempt.of(not.outcome()) instanceof Attempt.LostAgain;
        return lost && !closed ? replacement.lostAgain() : OptionalLong.empty();
    }

    private Outcome introduced(SessionOpening.Result result, int number, CompletableFuture<Place> next) {
        if (result instanceof SessionOpening.Opened opened) {
            arrived(next, new Place.At(number, opened.session()));
            away.back();
            return new Outcome.Done();
        }
        arrived(next, new Place.At(number, opening(number).unopened()));
        return ((SessionOpening.NotOpened) result).outcome();
    }

    /** Begins to open a session, which {@link #close} can end. */
    private SessionOpening begin(int number) {
        newest.accumulateAndGet(number, Math::max);
        SessionOpening begun = opening(number);
        opening.set(begun);
        if (closed) {
            begun.close();
        }
        return begun;
    }

    /** The session is there now; what waits for it goes on. Nobody waits where the application has ended it meanwhile. */
    private void arrived(CompletableFuture<Place> next, Place found) {
        opening.set(null);
        replacement.opened(found.number());
        if (!next.complete(found) && found instanceof Place.At at) {
            close(at.session());
        }
    }

    private void learnPromises(Envelope initialize, Envelope message) {
        if (message.kind() == Envelope.Kind.RESPONSE && message.id().equals(initialize.id())) {
            introduction.answered(message);
        }
    }

    /** Asks for another session where the last attempt to open one has failed. */
    void seek() {
        CompletableFuture<Place> current = now();
        if (current.isDone() && current.join() instanceof Place.Lost lost) {
            replace(lost);
        }
    }

    /** Opens another session at the server, once for all who miss this one; false if there will be none. */
    boolean replace(Place missed) {
        if (closed || introduction.said().isEmpty()) {
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
        return true;
    }

    private Place lostTooOften(int number) {
        watch.failed(new IOException("the server loses each session as soon as it is opened"));
        return new Place.Lost(number);
    }

    private void replaceNow(int number, CompletableFuture<Place> next) {
        CompletableFuture<Place> deadline = new CompletableFuture<>();
        Future<?> late = server.later(
                server.limits().patience().toMillis(), () -> deadline.complete(new Place.Lost(newest.get())));
        attempt(number, deadline);
        deadline.thenAccept(found -> {
            late.cancel(false);
            arrived(next, found);
            if (found instanceof Place.At at) {
                away.replaced();
                replacement.tell(at.number());
            }
        });
    }

    /** Tries to open a session, and another where that is lost before it is there, until the deadline. */
    private void attempt(int number, CompletableFuture<Place> deadline) {
        if (closed) {
            deadline.complete(new Place.Lost(number));
        }
        if (deadline.isDone()) {
            return;
        }
        ServerSession lost = retired.get();
        SessionOpening begun = begin(number).in(lost == null ? Optional.empty() : lost.successor());
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

    /** Ends the session, once. The stage completes when the server was told, or after 5 s. */
    CompletionStage<Void> close() {
        synchronized (this) {
            if (closed) {
                return told.copy();
            }
            closed = true;
        }
        end().whenComplete((done, failure) -> told.complete(null));
        return told.copy();
    }

    private CompletionStage<Void> end() {
        replacement.close();
        close(retired.getAndSet(null));
        now().complete(new Place.Lost(Integer.MAX_VALUE));
        SessionOpening begun = opening.getAndSet(null);
        if (begun != null) {
            begun.close();
        }
        Place at = now().getNow(new Place.Lost(-1));
        return at instanceof Place.At open ? open.session().close() : CompletableFuture.completedFuture(null);
    }
}
