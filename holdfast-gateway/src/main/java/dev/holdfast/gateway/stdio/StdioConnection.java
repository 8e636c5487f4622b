package dev.holdfast.gateway.stdio;

import dev.holdfast.gateway.asking.Questions;
import dev.holdfast.gateway.process.Child;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session's way to its child. Messages pass as the bytes they are; only the ids of the child's own requests are replaced, and
 * restored in the client's answers.
 */
final class StdioConnection implements BackendConnection, Child.Listener {
    private static final Logger log = LoggerFactory.getLogger(StdioConnection.class);

    private final Child child;
    private final ListeningSink listening;
    private final Handshake handshake;
    private final EnvelopeReader envelopes;
    private final CommitGate gate;
    private final RunningCalls calls = new RunningCalls();
    private final Questions questions;
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
        this.questions = new Questions(incarnation);
        this.probe = new Probe(child, incarnation, gate);
        this.asking = new StdioQuestions(child.name(), this::write, calls, questions, listening, gate, envelopes);
        this.router = new StdioRouter(child.name(), child.lines(), calls, asking, probe, listening, gate, envelopes);
    }

    @Override
    public void call(InboundMessage request, CallSink sink) {
        RequestId id = request.requiredId();
        if (death.isPresent()) {
            sink.send(JsonRpc.MESSAGES.error(id, JsonRpc.SERVER_ERROR, death.get()));
            return;
        }
        Envelope message = parsed(request.bytes());
        calls.start(request, message.progressToken(), sink);
        child.write(message.onOneLine());
        sink.onCancel(notification -> cancel(id, notification));
    }

    private void cancel(RequestId id, Optional<InboundMessage> notification) {
        Optional<CallSink> call = calls.cancel(id);
        write(notification
                .map(InboundMessage::bytes)
                .orElseGet(() -> JsonRpc.MESSAGES.cancelled(id, "cancelled").bytes()));
        call.ifPresent(asking::ended);
        if (notification.isEmpty()) {
            // it was not the client that gave up: the call ran into its time limit
            probe.begin();
        }
    }

    @Override
    public void notify(InboundMessage notification) {
        write(notification.bytes());
    }

    @Override
    public void answer(InboundMessage response) {
        Optional<Questions.Question> question = questions.answered(response.requiredId());
        if (question.isPresent()) {
            write(parsed(response.bytes()).withId(question.get().spelling()));
        } else {
            log.debug("{}: an answer that it does not wait for was dropped", child.name());
        }
    }

    @Override
    public CompletionStage<Void> close() {
        gate.open();
        probe.end();
        return child.close();
    }

    @Override
    public void received(byte[] line) {
        gate.pass();
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

    private void write(byte[] message) {
        child.write(parsed(message).onOneLine());
    }

    /** Parses one message, which the edge has checked before. */
    private Envelope parsed(byte[] message) {
        if (envelopes.read(message) instanceof EnvelopeReader.Single single) {
            return single.message();
        }
        throw new IllegalArgumentException("not one JSON-RPC message");
    }
}
