package dev.holdfast.gateway.stdio;

import dev.holdfast.gateway.process.ChildName;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.backend.OpenQuestions;
import dev.holdfast.json.backend.OpenQuestions.Question;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The requests of a child on their way to the client. Each gets an answer: the client's, or an error if it cannot be asked. Which
 * call one belongs to, if any, the child does not say; so a question goes to the listening stream if its client reads it, else
 * to a call, and to the listening stream again if that call ends before the answer.
 */
final class StdioQuestions {
    private static final Logger log = LoggerFactory.getLogger(StdioQuestions.class);

    private final ChildName name;
    private final Consumer<byte[]> child;
    private final RunningCalls calls;
    private final OpenQuestions questions;
    private final ListeningSink listening;
    private final CommitGate gate;

    StdioQuestions(
            ChildName name,
            Consumer<byte[]> child,
            RunningCalls calls,
            OpenQuestions questions,
            ListeningSink listening,
            CommitGate gate) {
        this.name = name;
        this.child = child;
        this.calls = calls;
        this.questions = questions;
        this.listening = listening;
        this.gate = gate;
    }

    /** Asks the client. */
    void ask(Envelope message) {
        RequestId spelling = new RequestId(message.spelledId().orElseThrow());
        RequestId ours = questions.nextId();
        OutboundMessage outbound = message.withId(ours).outbound();
        Optional<CallSink> call = listening.attached() ? Optional.empty() : calls.unattributed(listening);
        Question question = new Question(ours, message.id().orElse(spelling), spelling, call, outbound);
        if (questions.open(question)) {
            send(question);
            // that of a call which was cancelled meanwhile would be asked by nobody
            call.filter(ended -> !calls.runs(ended)).ifPresent(this::ended);
        } else {
            refuse(question, "too many requests to the client have no answer yet");
        }
    }

    /** The child gives a question up: the client is told, and not asked again. */
    void withdraw(Envelope message) {
        Optional<Question> found = message.cancelledRequest().flatMap(questions::withdrawn);
        if (found.isEmpty()) {
            log.debug("{}: it gives up what is not open, dropped: {}", name, message);
            return;
        }
        Question question = found.get();
        Envelope told = message.withCancelledRequest(question.ours());
        gate.sent(told.bytes().length, question.send(listening, told.outbound()));
        listening.withdrawn(question.ours());
    }

    /** A call has ended: what it carried and has no answer is no affair of that call, and goes on without it. */
    void ended(CallSink call) {
        questions.move(call).forEach(question -> {
            listening.withdrawn(question.ours());
            send(question);
        });
    }

    private void send(Question question) {
        OutboundMessage message = question.message();
        CompletionStage<Void> commit = question.send(listening, message);
        gate.sent(message.bytes().length, commit);
        commit.whenComplete((done, failure) -> {
            if (failure != null && questions.answered(question.ours()).isPresent()) {
                refuse(question, "the request could not be stored");
            }
        });
    }

    private void refuse(Question question, String cause) {
        String kind = question.message().kind() == EventKind.PING ? "ping" : "request";
        log.debug("{}: a {} to the client was refused: {}", name, kind, cause);
        refuse(question.spelling(), JsonRpc.SERVER_ERROR, cause);
    }

    /** Tells the child that a request of its cannot be passed on, under the id as it has spelled it. */
    void refuse(RequestId spelling, int code, String cause) {
        child.accept(JsonRpc.MESSAGES.error(spelling, code, cause).bytes());
    }
}
