package dev.holdfast.json.backend;

import dev.holdfast.json.Envelope;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The requests of one server on their way to the client. Each gets an answer: the client's, or an error if it cannot be asked. The client
 * knows them under ids that no other server of the session ever uses: each counts from its own beginning, and an answer that comes late
 * must not reach the wrong one. What is asked in a call that ends before the answer is asked on the listening stream from then on. Safe for
 * use by any thread.
 */
public final class OpenQuestions {
    public static final int MOST = 1024;
    /** The number of pings that the engine keeps for a session; beyond it, it gives up the oldest. */
    public static final int MOST_PINGS = 128;

    private final String incarnation;
    private final ListeningSink listening;
    private final Server server;
    private final Map<RequestId, Question> open = new LinkedHashMap<>(0);
    private int pings;
    private long count;

    /** The server that asks. */
    public interface Server {
        /** Gets an error in the place of an answer. */
        void refuse(OutboundMessage error);

        /** Whether the call of this sink has no end yet. */
        boolean runs(CallSink call);

        /** So many bytes of its messages are on their way to the client until they are committed. */
        void sent(int bytes, CompletionStage<Void> commit);
    }

    /**
     * A request without an answer.
     *
     * @param ours the id by which the client knows it
     * @param theirs the server's id
     * @param spelling the server's id, exactly as the server wrote it
     * @param call the call on whose stream it was sent; empty for the listening stream
     * @param message as the client gets it
     */
    private record Question(
            RequestId ours, RequestId theirs, RequestId spelling, Optional<CallSink> call, OutboundMessage message) {
        private boolean ping() {
            return message.kind() == EventKind.PING;
        }

        private Question moved() {
            return new Question(ours, theirs, spelling, Optional.empty(), message);
        }
    }

    /**
     * No questions yet.
     *
     * @param incarnation makes the ids different from those of any other server of the session
     */
    public OpenQuestions(String incarnation, ListeningSink listening, Server server) {
        this.incarnation = incarnation;
        this.listening = listening;
        this.server = server;
    }

    /** Asks the client, in a call or on the listening stream; completes when the request is stored. */
    public CompletionStage<Void> ask(Envelope message, Optional<CallSink> call) {
        RequestId spelling = new RequestId(message.spelledId().orElseThrow());
        RequestId ours = nextId();
        Question question = new Question(
                ours,
                message.id().orElse(spelling),
                spelling,
                call,
                message.withId(ours).outbound());
        if (!keep(question)) {
            refuse(question.spelling, "too many requests to the client have no answer yet");
            return CompletableFuture.completedFuture(null);
        }
        CompletionStage<Void> stored = send(question);
        // that of a call which has ended meanwhile would be asked by nobody
        call.filter(ended -> !server.runs(ended)).ifPresent(this::ended);
        return stored;
    }

    private synchronized RequestId nextId() {
        return JsonRpc.stringId(incarnation + "-" + ++count);
    }

    /** Keeps a question that waits for its answer; false if too many wait. None is given up for another. */
    private synchronized boolean keep(Question question) {
        boolean room = question.ping() ? pings < MOST_PINGS : open.size() - pings < MOST;
        if (room) {
            open.put(question.ours, question);
            pings += question.ping() ? 1 : 0;
        }
        return room;
    }

    private CompletionStage<Void> send(Question question) {
        return send(question, question.message).whenComplete((done, failure) -> {
            if (failure != null && take(question.ours).isPresent()) {
                refuse(question.spelling, "the request could not be stored");
            }
        });
    }

    private CompletionStage<Void> send(Question question, OutboundMessage message) {
        CompletionStage<Void> commit =
                question.call.isPresent() ? question.call.get().send(message) : listening.send(message);
        server.sent(message.bytes().length, commit);
        return commit;
    }

    private void refuse(RequestId spelling, String cause) {
        server.refuse(JsonRpc.MESSAGES.error(spelling, JsonRpc.SERVER_ERROR, cause));
    }

    /** Takes the question that the client has answered; returns its id as the server wrote it. */
    public Optional<RequestId> answered(RequestId ours) {
        return take(ours).map(Question::spelling);
    }

    private synchronized Optional<Question> take(RequestId ours) {
        Optional<Question> question = Optional.ofNullable(open.remove(ours));
        pings -= question.filter(Question::ping).isPresent() ? 1 : 0;
        return question;
    }

    /** The server gives a question up: the client is told, and not asked again. Empty if it is not open. */
    public Optional<CompletionStage<Void>> withdraw(Envelope message) {
        Optional<Question> found = message.cancelledRequest().flatMap(this::takeTheirs);
        return found.map(question -> {
            CompletionStage<Void> told =
                    send(question, message.withCancelledRequest(question.ours).outbound());
            listening.withdrawn(question.ours);
            return told;
        });
    }

    private synchronized Optional<Question> takeTheirs(RequestId theirs) {
        return open.values().stream()
                .filter(question -> question.theirs.equals(theirs))
                .findFirst()
                .flatMap(question -> take(question.ours));
    }

    /** A call has ended: what it asked and has no answer goes on without it. */
    public void ended(CallSink call) {
        move(call).forEach(question -> {
            listening.withdrawn(question.ours);
            CompletionStage<Void> unused = send(question);
        });
    }

    private synchronized List<Question> move(CallSink call) {
        if (open.isEmpty()) {
            return List.of();
        }
        List<Question> moved = open.values().stream()
                .filter(question -> question.call.filter(call::equals).isPresent())
                .map(Question::moved)
                .toList();
        moved.forEach(question -> open.put(question.ours, question));
        return moved;
    }
}
