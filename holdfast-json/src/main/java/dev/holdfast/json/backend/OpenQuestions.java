package dev.holdfast.json.backend;

import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * The requests of one server to the client that have no answer, under ids that no other server of the session ever uses: each
 * counts from its own beginning, and an answer that comes late must not reach the wrong one. Safe for use by any thread.
 */
public final class OpenQuestions {
    public static final int MOST = 1024;
    /** The number of pings that the engine keeps for a session; beyond it, it gives up the oldest. */
    public static final int MOST_PINGS = 128;

    private final String incarnation;
    private final Map<RequestId, Question> open = new LinkedHashMap<>(0);
    private int pings;
    private long count;

    /**
     * A request without an answer.
     *
     * @param ours the id by which the client knows it
     * @param theirs the server's id
     * @param spelling the server's id, exactly as the server wrote it
     * @param call the call on whose stream it was sent; empty for the listening stream
     * @param message as the client gets it
     */
    public record Question(
            RequestId ours, RequestId theirs, RequestId spelling, Optional<CallSink> call, OutboundMessage message) {
        /** Sends a message where the question is. */
        public CompletionStage<Void> send(ListeningSink listening, OutboundMessage outbound) {
            return call.isPresent() ? call.get().send(outbound) : listening.send(outbound);
        }

        public boolean ping() {
            return message.kind() == EventKind.PING;
        }

        private Question moved() {
            return new Question(ours, theirs, spelling, Optional.empty(), message);
        }
    }

    public OpenQuestions(String incarnation) {
        this.incarnation = incarnation;
    }

    /** The id by which the client gets to know the next one. */
    public synchronized RequestId nextId() {
        return JsonRpc.stringId(incarnation + "-" + ++count);
    }

    /** Notes a question that waits for its answer; false if too many wait. None is given up for another. */
    public synchronized boolean open(Question question) {
        boolean room = question.ping() ? pings < MOST_PINGS : open.size() - pings < MOST;
        if (room) {
            open.put(question.ours, question);
            pings += question.ping() ? 1 : 0;
        }
        return room;
    }

    /** Takes the question that has an answer now. */
    public synchronized Optional<Question> answered(RequestId ours) {
        Optional<Question> question = Optional.ofNullable(open.remove(ours));
        pings -= question.filter(Question::ping).isPresent() ? 1 : 0;
        return question;
    }

    /** Takes the question that the server gives up. */
    public synchronized Optional<Question> withdrawn(RequestId theirs) {
        return open.values().stream()
                .filter(question -> question.theirs.equals(theirs))
                .findFirst()
                .flatMap(question -> answered(question.ours));
    }

    /** Moves the questions of a call to the listening stream, and returns them. */
    public synchronized List<Question> move(CallSink call) {
        List<Question> moved = open.values().stream()
                .filter(question -> question.call.filter(call::equals).isPresent())
                .map(Question::moved)
                .toList();
        moved.forEach(question -> open.put(question.ours, question));
        return moved;
    }
}
