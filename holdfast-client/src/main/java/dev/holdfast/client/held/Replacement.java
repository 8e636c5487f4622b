package dev.holdfast.client.held;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpening;
import dev.holdfast.client.SessionOpening.Protocol;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.OutboundMessage;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Opens a session in the place of a lost one, brings it to where that was, and tells the application what it may have missed. */
final class Replacement {
    private static final EnvelopeReader ENVELOPES = new EnvelopeReader();
    private static final Envelope INITIALIZED =
            read("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}".getBytes(UTF_8));

    private final Introduction introduction;
    private final Settings settings;
    private final Questions questions;
    private final MessageSink application;
    private final HeldWatch watch;

    Replacement(
            Introduction introduction,
            Settings settings,
            Questions questions,
            MessageSink application,
            HeldWatch watch) {
        this.introduction = introduction;
        this.settings = settings;
        this.questions = questions;
        this.application = application;
        this.watch = watch;
    }

    /** Returns the place of the new session once it is where the lost one was. */
    CompletionStage<Place> open(SessionOpening opening, Protocol protocol, int number, MessageSink others) {
        Introduction.Said said = introduction.said().orElseThrow();
        Envelope initialize = ownCopy(said.initialize());
        CompletableFuture<Envelope> answer = new CompletableFuture<>();
        return opening.open(protocol, initialize, said.context(), swallowing(initialize, answer, others))
                .thenCompose(result -> {
                    if (!(result instanceof SessionOpening.Opened opened)) {
                        watch.failed(new IOException("the session is lost, and the server does not open another: "
                                + ((SessionOpening.NotOpened) result).outcome()));
                        return CompletableFuture.completedFuture(new Place.Lost(number));
                    }
                    introduction.promised(
                            JsonRpc.MESSAGES.introduction(answer.join().bytes()).lists());
                    return restored(opened.session(), said.context(), others)
                            .thenApply(nothing -> new Place.At(number, opened.session()));
                });
    }

    private CompletionStage<Void> restored(ServerSession session, Object context, MessageSink others) {
        CompletionStage<Void> done = introduction.isInitialized()
                ? session.post(INITIALIZED, context).thenAccept(outcome -> complain("initialized", outcome))
                : CompletableFuture.completedFuture(null);
        for (Envelope setting : settings.requests()) {
            Envelope request = ownCopy(setting);
            CompletableFuture<Envelope> answer = new CompletableFuture<>();
            done = done.thenCompose(before -> session.call(
                            request, ServerSession.Repeat.HARMLESS, context, swallowing(request, answer, others))
                    .thenAccept(outcome -> complain(
                            setting.method(),
                            answer.isDone() && answer.join().kind() == Envelope.Kind.ERROR
                                    ? new Outcome.Unreadable("the server answered with an error")
                                    : outcome)));
        }
        return done;
    }

    private void complain(String what, Outcome outcome) {
        if (!(outcome instanceof Outcome.Done)) {
            watch.failed(new IOException("in the session that replaces the lost one, " + what + " failed: " + outcome));
        }
    }

    private Envelope ownCopy(Envelope request) {
        return read(request.withId(JsonRpc.stringId("holdfast-" + introduction.nextId())));
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

    /** Tells the application that the session was replaced. */
    void tell() {
        questions.giveUp().forEach(application::message);
        watch.sessionReplaced();
        tellOfMissedChanges();
    }

    /** Tells the application of the changes that it may have missed: lists that the server watches, resources that it subscribed to. */
    void tellOfMissedChanges() {
        if (!introduction.isInitialized()) {
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
