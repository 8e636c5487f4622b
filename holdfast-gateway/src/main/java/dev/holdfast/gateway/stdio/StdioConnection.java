package dev.holdfast.gateway.stdio;

import dev.holdfast.gateway.process.Child;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.backend.OpenQuestions;
import dev.holdfast.json.backend.ServerIds;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session's way to its child. Messages pass as the bytes they are; only the ids of the child's own requests are replaced, and
 * restored in the client's answers, and those ids and progress tokens of the client's that the child would not tell from others, or not
 * give back as they are ({@link ServerIds}).
 */
final class StdioConnection implements BackendConnection, Child.Listener {
    private static final Logger log = LoggerFactory.getLogger(StdioConnection.class);

    private final Child child;
    private final ListeningSink listening;
    private final Handshake handshake;
    private final EnvelopeReader envelopes;
    private final CommitGate gate;
    private final RunningCalls calls = new RunningCalls();
    private final OpenQuestions questions;
    private final StdioQuestions asking;
    private final Probe probe;
    private final StdioRouter router;
    private volatile Optional<String> death = Optional.empty();

    /**
     * A connection to a child that nobody listens to yet.
     *
     * @param incarnation makes the ids of the child's requests different from those of any other child of the session
     * @param handshake learns if the child dies before its end
     */
    StdioConnection(
            Child child, String incarnation, ListeningSink listening, Handshake handshake, EnvelopeReader envelopes) {
        this.child = child;
        this.listening = listening;
        this.handshake = handshake;
        this.envelopes = envelopes;
        this.gate = new CommitGate(child.options().uncommittedBytes());
        this.questions = new OpenQuestions(incarnation);
        this.probe = new Probe(child, incarnation);
        this.asking = new StdioQuestions(child.name(), child::write, calls, questions, listening, gate);
        this.router = new StdioRouter(child.name(), child.lines(), calls, asking, probe, listening, gate, envelopes);
    }

    @Override
    public void call(InboundMessage request, CallSink sink) {
        if (death.isPresent()) {
            listening.lost(death.get(), List.of(request));
        } else {
            begin(request, sink, message -> calls.start(request, message, sink));
        }
    }

    @Override
    public void replay(InboundMessage request, CallSink sink) {
        if (death.isPresent()) {
            // an error would say that no server process can go on with the session; that this one is dead ends its
            // replay
            listening.lost(death.get());
        } else {
            begin(request, sink, message -> calls.startMute(request, message, sink));
        }
    }

    private void begin(InboundMessage request, CallSink sink, Function<Envelope, ServerIds.Names> start) {
        Envelope message = envelopes.message(request);
        ServerIds.Names names = start.apply(message);
        RequestId theirs = names.id();
        child.write(names.of(message).onOneLine());
        sink.onCancel(notification -> {
            if (calls.cancel(theirs, sink)) {
                cancelled(theirs, sink, notification);
            }
        });
    }

    private void cancelled(RequestId theirs, CallSink sink, Optional<InboundMessage> notification) {
        child.write(notification
                .map(told -> cancelling(theirs, envelopes.message(told)))
                .orElseGet(() -> JsonRpc.MESSAGES.cancelled(theirs, "cancelled").bytes()));
        asking.ended(sink);
        if (notification.isEmpty()) {
            // it was not the client that gave up: the call ran into its time limit
            probe.begin();
        }
    }

    /** The client's word, with the id that the child knows. */
    private static byte[] cancelling(RequestId theirs, Envelope notification) {
        return (notification.cancelledRequest().isPresent() ? notification.withCancelledRequest(theirs) : notification)
                .onOneLine();
    }

    @Override
    public void notify(InboundMessage notification) {
        child.write(envelopes.message(notification).onOneLine());
    }

    @Override
    public void answer(InboundMessage response) {
        Optional<OpenQuestions.Question> question = questions.answered(response.requiredId());
        if (question.isPresent()) {
            child.write(envelopes
                    .message(response)
                    .withId(question.get().spelling())
                    .onOneLine());
        } else {
            log.debug("{}: an answer that it does not wait for was dropped", child.name());
        }
    }

    @Override
    public CompletionStage<Void> close() {
        return child.close();
    }

    /** Too much of what it has said waits for the store. */
    @Override
    public boolean busy() {
        return gate.holds();
    }

    /** What a child says before a new session is open is stored after that: it would wait for an answer that is behind it. */
    @Override
    public void awaitReady() {
        if (handshake.open()) {
            child.giveUp("the server process sent more than " + child.options().uncommittedBytes()
                    + " bytes of other messages before it answered initialize");
        }
        gate.pass();
    }

    @Override
    public void received(byte[] line) {
        if (death.isEmpty() && line.length > 0) {
            router.route(line);
        }
    }

    @Override
    public void died(String cause) {
        death = Optional.of(cause);
        probe.end();
        gate.open();
        if (!handshake.fail(cause)) {
            listening.lost(cause);
        }
    }

    @Override
    public void closed() {
        probe.end();
        gate.open();
    }
}
