package dev.holdfast.session;

import dev.holdfast.CallWatch;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.LiveStream;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The questions that are open between client and backend, in both directions: the client's requests in flight, here or on their way
 * to another node, and the backend's requests to the client. Used inside a step.
 */
final class OpenRequests {
    /** So many pings may wait for their answers: a client that is away, or answers none, is not to find more. */
    static final int MOST_PINGS = 128;

    private final Map<RequestId, RequestSink> inFlight = new LinkedHashMap<>(0);
    private Map<RequestId, CallOnItsWay> onTheirWay = Collections.emptyMap();
    private Map<RequestId, Question> asked = Collections.emptyMap();
    private int pings;

    /**
     * A request to the client.
     *
     * @param incarnation the incarnation of the backend that asked
     * @param call the call that it was asked for, if it was
     */
    record Question(KeptEvent node, int incarnation, Optional<LiveCall> call) {
        boolean ping() {
            return node.event.kind() == EventKind.PING;
        }
    }

    /** The first id that is in flight already or occurs twice. */
    Optional<RequestId> duplicate(List<InboundMessage> requests) {
        for (int i = 0; i < requests.size(); i++) {
            RequestId id = requests.get(i).requiredId();
            if (inFlight.containsKey(id) || onTheirWay.containsKey(id)) {
                return Optional.of(id);
            }
            for (int j = 0; j < i; j++) {
                if (requests.get(j).requiredId().equals(id)) {
                    return Optional.of(id);
                }
            }
        }
        return Optional.empty();
    }

    /** A call sets out. */
    void setOut(CallOnItsWay call) {
        onTheirWay = onTheirWay.isEmpty() ? new LinkedHashMap<>() : onTheirWay;
        call.requests().forEach(request -> onTheirWay.put(request.requiredId(), call));
    }

    /** A call is not on its way any more; returns how many of its requests were until now. */
    int arrive(CallOnItsWay call) {
        int arrived = 0;
        for (InboundMessage request : call.requests()) {
            if (onTheirWay.get(request.requiredId()) == call) {
                onTheirWay.remove(request.requiredId());
                arrived++;
            }
        }
        onTheirWay = onTheirWay.isEmpty() ? Collections.emptyMap() : onTheirWay;
        return arrived;
    }

    /** The call with which a request is on its way. */
    Optional<CallOnItsWay> onItsWay(RequestId id) {
        return Optional.ofNullable(onTheirWay.get(id));
    }

    /** How many requests of the client are in flight. */
    int running() {
        return inFlight.size() + onTheirWay.size();
    }

    void start(LiveCall call) {
        call.sinks().forEach(sink -> inFlight.put(sink.id(), sink));
    }

    void end(RequestSink sink) {
        inFlight.remove(sink.id(), sink);
    }

    Optional<RequestSink> find(RequestId id) {
        return Optional.ofNullable(inFlight.get(id));
    }

    /** The requests of calls that run for too long and have no answer yet; of two calls the older one is late first. */
    List<RequestSink> overdue(Predicate<LiveCall> late) {
        List<RequestSink> found = List.of();
        for (RequestSink sink : inFlight.values()) {
            if (!late.test(sink.call())) {
                break;
            }
            if (sink.open() && !sink.stopped()) {
                found = found.isEmpty() ? new ArrayList<>() : found;
                found.add(sink);
            }
        }
        return found;
    }

    /** Who follows the requests whose answers go to a stream. */
    List<CallWatch> watching(LiveStream stream) {
        List<CallWatch> found = List.of();
        for (RequestSink sink : inFlight.values()) {
            if (sink.call().stream() == stream && sink.watch() != CallWatch.NONE) {
                found = found.isEmpty() ? new ArrayList<>(1) : found;
                found.add(sink.watch());
            }
        }
        return found;
    }

    List<RequestSink> all() {
        return List.copyOf(inFlight.values());
    }

    /** Remembers a question. Returns the ping that is given up for it, if there are too many. */
    Optional<Question> ask(RequestId id, Question question) {
        if (asked.isEmpty()) {
            asked = new LinkedHashMap<>();
        }
        Optional<Question> tooOld = question.ping() && pings == MOST_PINGS ? takeOldestPing() : Optional.empty();
        answered(id);
        asked.put(id, question);
        pings += question.ping() ? 1 : 0;
        return tooOld;
    }

    private Optional<Question> takeOldestPing() {
        return asked.entrySet().stream()
                .filter(entry -> entry.getValue().ping())
                .findFirst()
                .flatMap(oldest -> answered(oldest.getKey()));
    }

    /** Takes the question that this answers, once. */
    Optional<Question> answered(RequestId id) {
        Optional<Question> question = Optional.ofNullable(asked.remove(id));
        pings -= question.filter(Question::ping).isPresent() ? 1 : 0;
        return question;
    }

    /** The open questions of a call. */
    List<KeptEvent> askedFor(LiveCall call) {
        return asked.values().stream()
                .filter(question -> question.call().filter(call::equals).isPresent())
                .map(Question::node)
                .toList();
    }

    /** Takes all questions: nobody waits for their answers any more. */
    List<Question> withdraw() {
        List<Question> open = List.copyOf(asked.values());
        asked = Collections.emptyMap();
        pings = 0;
        return open;
    }
}
