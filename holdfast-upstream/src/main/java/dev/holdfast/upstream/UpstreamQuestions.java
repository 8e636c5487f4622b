package dev.holdfast.upstream;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.backend.OpenQuestions;
import dev.holdfast.json.backend.OpenQuestions.Question;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The requests of an upstream on their way to the client, each on the stream that the upstream has chosen. The answer goes back under
 * the upstream's own id. What is asked in a call that ends before the answer is asked on the listening stream from then on.
 */
final class UpstreamQuestions {
    private static final Logger log = LoggerFactory.getLogger(UpstreamQuestions.class);

    private final OpenQuestions questions;
    private final ListeningSink listening;
    private final UpstreamLink upstream;

    /** The questions of one session at the upstream. */
    UpstreamQuestions(String incarnation, ListeningSink listening, UpstreamLink upstream) {
        this.questions = new OpenQuestions(incarnation);
        this.listening = listening;
        this.upstream = upstream;
    }

    /** Asks the client, in a call or on the listening stream; completes when the request is stored. */
    CompletionStage<Void> ask(Envelope message, Optional<CallSink> call) {
        RequestId spelling = new RequestId(message.spelledId().orElseThrow());
        RequestId ours = questions.nextId();
        Question question = new Question(
                ours,
                message.id().orElse(spelling),
                spelling,
                call,
                message.withId(ours).outbound());
        if (!questions.open(question)) {
            refuse(question, "too many requests to the client have no answer yet");
            return CompletableFuture.completedFuture(null);
        }
        return send(question);
    }

    private CompletionStage<Void> send(Question question) {
        return question.send(listening, question.message()).whenComplete((done, failure) -> {
            if (failure != null && questions.answered(question.ours()).isPresent()) {
                refuse(question, "the request could not be stored");
            }
        });
    }

    private void refuse(Question question, String cause) {
        log.debug("a request of the upstream was refused: {}", cause);
        upstream.post(JsonRpc.MESSAGES
                .error(question.spelling(), JsonRpc.SERVER_ERROR, cause)
                .bytes());
    }

    /** The client's answer as the upstream knows it; empty where nobody waits for it. */
    Optional<byte[]> answer(InboundMessage response) {
        return questions
                .answered(response.requiredId())
                .map(question -> UpstreamLink.ENVELOPES
                        .message(response)
                        .withId(question.spelling())
                        .bytes());
    }

    /** The upstream gives a question up: the client is told, and not asked again. */
    CompletionStage<Void> withdraw(Envelope message) {
        Optional<Question> found = message.cancelledRequest().flatMap(questions::withdrawn);
        if (found.isEmpty()) {
            return CompletableFuture.completedFuture(null);
        }
        Question question = found.get();
        CompletionStage<Void> told = question.send(
                listening, message.withCancelledRequest(question.ours()).outbound());
        listening.withdrawn(question.ours());
        return told;
    }

    /** A call has ended: what it asked and has no answer goes on without it. */
    void ended(CallSink call) {
        questions.move(call).forEach(question -> {
            listening.withdrawn(question.ours());
            CompletionStage<Void> unused = send(question);
        });
    }
}
