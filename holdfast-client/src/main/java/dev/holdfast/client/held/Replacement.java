package dev.holdfast.client.held;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.Seldom;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpening;
import dev.holdfast.client.SessionOpening.Protocol;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.OutboundMessage;
import java.io.IOException;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Opens a session in the place of a lost one, brings it to where that was, and tells the application what it may have missed. */
final class Replacement {
    private static final EnvelopeReader ENVELOPES = new EnvelopeReader();
    private static final Envelope INITIALIZED =
            read("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}".getBytes(UTF_8));

    /** Gaps that come faster than this are told together: each telling makes an application ask for all lists again. */
    private static final Duration LEAST_BETWEEN_GAPS = Duration.ofSeconds(10);

    private final Introduction introduction;
    private final Settings settings;
    private final Questions questions;
    private final MessageSink application;
    private final HeldWatch watch;
    private final Pace pace;
    private final Seldom gaps;
    private volatile boolean closed;

    Replacement(
            Introduction introduction,
            Settings settings,
            Questions questions,
            MessageSink application,
            HeldWatch watch,
            RemoteServer server) {
        this.introduction = introduction;
        this.settings = settings;
        this.questions = questions;
        this.application = application;
        this.watch = watch;
        this.pace = new Pace(server.patience());
        this.gaps = new Seldom(LEAST_BETWEEN_GAPS, server::later, this::tellOfMissedChanges);
    }

    /** The application begins to open a session. */
    void introduced() {
        pace.introduced();
    }

    /** A session was opened, by this or by the application. */
    void opened(int number) {
        pace.opened(number);
    }

    /** A call of the application was answered in a session. */
    void served(int number) {
        pace.served(number);
    }

    /** In how many milliseconds a session that was lost now may be replaced; empty if no more should be tried. */
    OptionalLong lost() {
        return pace.lost();
    }

    /** In how many milliseconds to try again where an attempt was lost on its way; empty if no more should be tried. */
    OptionalLong lostAgain() {
        return pace.lostAgain();
    }

    /** Opens a session, and brings it to where the lost one was. */
    CompletionStage<Attempt> open(SessionOpening opening, Protocol protocol, int number, MessageSink others) {
        Introduction.Said said = introduction.said().orElseThrow();
        Envelope initialize = ownCopy(said.initialize());
        CompletableFuture<Envelope> answer = new CompletableFuture<>();
        return opening.open(protocol, initialize, said.context(), swallowing(initialize, answer, others))
                .thenCompose(result -> {
                    if (!(result instanceof SessionOpening.Opened opened)) {
                        return CompletableFuture.completedFuture(
                                notOpened(((SessionOpening.NotOpened) result).outcome()));
                    }
                    introduced(answer.join());
                    Attempt arrived = new Attempt.Arrived(new Place.At(number, opened.session()));
                    return restored(arrived, opened.session(), said.context(), others);
                });
    }

    /** The application goes on in the revision that it was told of. */
    private void introduced(Envelope answer) {
        introduction.promised(answer);
        String told = introduction.revision().orElse("none");
        String now = answer.protocolVersion().orElse("none");
        if (!now.equals(told)) {
            watch.failed(new IOException("the session that replaces the lost one is of revision " + now
                    + ", and the application speaks " + told));
        }
    }

    private Attempt notOpened(Outcome outcome) {
        Attempt attempt = Attempt.of(outcome);
        if (attempt instanceof Attempt.Failed && !(outcome instanceof Outcome.Closed)) {
            watch.failed(new IOException("the session is lost, and the server does not open another: " + outcome));
        }
        return attempt;
    }

    /** Sets everything again, as far as the session can be reached for that. */
    private CompletionStage<Attempt> restored(
            Attempt arrived, ServerSession session, Object context, MessageSink others) {
        CompletionStage<Attempt> done = introduction.isInitialized()
                ? session.post(INITIALIZED, context).thenApply(outcome -> behind(arrived, "initialized", outcome))
                : CompletableFuture.completedFuture(arrived);
        for (Envelope setting : settings.requests()) {
            done = done.thenCompose(before -> before instanceof Attempt.Arrived
                    ? restored(before, session, setting, context, others)
                    : CompletableFuture.completedFuture(before));
        }
        return done;
    }

    private CompletionStage<Attempt> restored(
            Attempt before, ServerSession session, Envelope setting, Object context, MessageSink others) {
        Envelope request = ownCopy(setting);
        CompletableFuture<Envelope> answer = new CompletableFuture<>();
        return session.call(request, ServerSession.Repeat.HARMLESS, context, swallowing(request, answer, others))
                .thenApply(outcome -> {
                    boolean refused = answer.isDone() && answer.join().kind() == Envelope.Kind.ERROR;
                    return behind(
                            before,
                            setting.method(),
                            refused ? new Outcome.Unreadable("the server answered with an error") : outcome);
                });
    }

    /** What the server refuses is missing from now on; what does not reach it ends the attempt. */
    private Attempt behind(Attempt before, String what, Outcome outcome) {
        boolean reached = outcome instanceof Outcome.Done
                || outcome instanceof Outcome.Unreadable
                || outcome instanceof Outcome.Refused;
        Attempt now = reached ? before : Attempt.of(outcome);
        boolean quiet = outcome instanceof Outcome.Done || outcome instanceof Outcome.Closed;
        if (!quiet && !(now instanceof Attempt.LostAgain)) {
            watch.failed(new IOException("in the session that replaces the lost one, " + what + " failed: " + outcome));
        }
        return now;
    }

    private Envelope ownCopy(Envelope request) {
        return request.withId(JsonRpc.stringId("holdfast-" + introduction.nextId()));
    }

    /** The answer to a request of this client's own is none of the application's business. */
    private static MessageSink swallowing(Envelope request, CompletableFuture<Envelope> answer, MessageSink others) {
        return message -> {
            if (message.kind() != Envelope.Kind.REQUEST && message.id().equals(request.id())) {
                answer.complete(message);
                return CompletableFuture.completedFuture(null);
            }
            return others.message(message);
        };
    }

    /** Tells the application that the session was replaced by this one. */
    void tell(int number) {
        questions.giveUpBefore(number).forEach(application::message);
        watch.sessionReplaced();
        tellOfMissedChanges();
    }

    /** Something may be missing: the application is told, not at once where it has been told just now. */
    void gap() {
        if (introduction.isInitialized() && !closed) {
            gaps.ask();
        }
    }

    /** The application is told nothing more. */
    void close() {
        closed = true;
    }

    /** Tells the application of the changes that it may have missed: lists that the server watches, resources that it subscribed to. */
    private void tellOfMissedChanges() {
        if (!introduction.isInitialized() || closed) {
            return;
        }
        for (OutboundMessage changed : JsonRpc.MESSAGES.listsChanged(introduction.promised())) {
            CompletionStage<Void> unused = application.message(read(changed.bytes()));
        }
        for (String uri : settings.subscribed()) {
            CompletionStage<Void> unused = application.message(read(JsonRpc.resourceUpdated(uri)));
        }
    }

    private static Envelope read(byte[] bytes) {
        return ((EnvelopeReader.Single) ENVELOPES.read(bytes)).message();
    }
}
