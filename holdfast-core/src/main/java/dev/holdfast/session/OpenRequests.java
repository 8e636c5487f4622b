package dev.holdfast.session;

import dev.holdfast.CallWatch;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Step;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The questions that are open between client and backend, in both directions: the client's requests in flight, here or on their way
 * to another node, and the backend's requests to the client.
 */
final class OpenRequests {
    /** So many pings may wait for their answers: a client that is away, or answers none, is not to find more. */
    static final int MOST_PINGS = 128;

    /** How many cancellations are remembered that may come again. */
    private static final int MOST_HEARD = 64;

    /** In the order in which they began; a client may use one id for several. */
    private final Set<LiveCall.Request> inFlight = new LinkedHashSet<>(0);

    private Set<CallOnItsWay> onTheirWay = Collections.emptySet();
    private Map<Long, Heard> heard = Collections.emptyMap();
    private Map<RequestId, Question> asked = Collections.emptyMap();
    private int pings;
    private int begun;

    /** A cancellation of this id, and whether it has found its request here. */
    private record Heard(RequestId id, boolean followed) {}

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

    static Optional<RequestId> repeated(List<InboundMessage> requests) {
        if (requests.size() == 1) {
            return Optional.empty();
        }
        Set<RequestId> ids = new HashSet<>();
        return requests.stream()
                .map(InboundMessage::requiredId)
                .filter(id -> !ids.add(id))
                .findFirst();
    }

    /** The first id that is in flight already. */
    Optional<RequestId> inFlight(List<InboundMessage> requests) {
        Set<RequestId> present = new HashSet<>();
        inFlight.forEach(request -> present.add(request.id()));
        onTheirWay.forEach(call -> call.requests.forEach(request -> present.add(request.requiredId())));
        return requests.stream()
                .map(InboundMessage::requiredId)
                .filter(present::contains)
                .findFirst();
    }

    void setOut(CallOnItsWay call, Step step) {
        onTheirWay = onTheirWay.isEmpty() ? new LinkedHashSet<>() : onTheirWay;
        onTheirWay.add(call);
    }

    /** A call is not on its way any more; returns how many of its requests were until now. */
    int arrive(CallOnItsWay call, Step step) {
        int arrived = onTheirWay.remove(call) ? call.requests.size() : 0;
        onTheirWay = onTheirWay.isEmpty() ? Collections.emptySet() : onTheirWay;
        return arrived;
    }

    int running() {
        int running = inFlight.size();
        for (CallOnItsWay call : onTheirWay) {
            running += call.requests.size();
        }
        return running;
    }

    void start(LiveCall call, Step step) {
        inFlight.addAll(call.requests);
        begun += call.initializes ? 0 : call.requests.size();
    }

    /** How many requests of the client have begun, {@code initialize} apart. */
    int begun() {
        return begun;
    }

    void end(LiveCall.Request request, Step step) {
        inFlight.remove(request);
    }

    /** The request in flight that a cancellation means, if it is not answered. */
    Optional<LiveCall.Request> meant(Cancellation cancellation) {
        return inFlight.stream()
                .filter(request -> request.open() && request.id().equals(cancellation.request()))
                .filter(request -> cancellation.call() == Cancellation.ANY
                        ? !request.call.behind.contains(cancellation.number())
                        : request.call.id.number() == cancellation.call())
                .reduce((older, newer) -> newer);
    }

    /** Cancels the request on its way that a cancellation means; returns its call, if there is one. */
    Optional<CallOnItsWay> cancelOnItsWay(Cancellation cancellation, Step step) {
        Optional<CallOnItsWay> call = isFollowed(cancellation)
                ? Optional.empty()
                : onTheirWay.stream()
                        .filter(onItsWay -> onItsWay.isMeant(cancellation))
                        .reduce((older, newer) -> newer);
        call.ifPresent(found -> found.cancel(cancellation, step));
        hear(cancellation, call.isPresent(), step);
        return call;
    }

    /** Whether a cancellation has found its request here before. */
    boolean isFollowed(Cancellation cancellation) {
        Heard before = heard.get(cancellation.number());
        return before != null && before.followed;
    }

    /** A cancellation has come, and may come again. */
    void hear(Cancellation cancellation, boolean followed, Step step) {
        if (cancellation.number() == Cancellation.ONCE || cancellation.call() != Cancellation.ANY) {
            return;
        }
        heard = heard.isEmpty() ? new LinkedHashMap<>() : heard;
        boolean before = isFollowed(cancellation);
        heard.put(cancellation.number(), new Heard(cancellation.request(), followed || before));
        if (heard.size() > MOST_HEARD) {
            heard.remove(heard.keySet().iterator().next());
        }
    }

    /** Which cancellations of these ids have come: they mean none of these requests, which come behind them. */
    List<Long> heard(List<InboundMessage> requests) {
        if (heard.isEmpty()) {
            return List.of();
        }
        return heard.entrySet().stream()
                .filter(entry -> requests.stream()
                        .anyMatch(request -> request.requiredId().equals(entry.getValue().id)))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** The requests of calls that run for too long and have no answer yet; of two calls the older one is late first. */
    List<LiveCall.Request> overdue(Predicate<LiveCall> late) {
        List<LiveCall.Request> found = List.of();
        for (LiveCall.Request request : inFlight) {
            if (!late.test(request.call)) {
                break;
            }
            if (request.open() && !request.stopped()) {
                found = found.isEmpty() ? new ArrayList<>() : found;
                found.add(request);
            }
        }
        return found;
    }

    /** Who follows the requests whose answers go to a stream. */
    List<CallWatch> watching(LiveStream stream) {
        List<CallWatch> found = List.of();
        for (LiveCall.Request request : inFlight) {
            if (request.call.stream == stream && request.watch() != CallWatch.NONE) {
                found = found.isEmpty() ? new ArrayList<>(1) : found;
                found.add(request.watch());
            }
        }
        return found;
    }

    List<LiveCall.Request> all() {
        return List.copyOf(inFlight);
    }

    /** Remembers a question. Returns the ping that is given up for it, if there are too many. */
    Optional<Question> ask(RequestId id, Question question, Step step) {
        if (asked.isEmpty()) {
            asked = new LinkedHashMap<>();
        }
        Optional<Question> tooOld = question.ping() && pings == MOST_PINGS ? takeOldestPing(step) : Optional.empty();
        answered(id, step);
        asked.put(id, question);
        pings += question.ping() ? 1 : 0;
        return tooOld;
    }

    private Optional<Question> takeOldestPing(Step step) {
        return asked.entrySet().stream()
                .filter(entry -> entry.getValue().ping())
                .findFirst()
                .flatMap(oldest -> answered(oldest.getKey(), step));
    }

    /** Takes the question that this answers, once. */
    Optional<Question> answered(RequestId id, Step step) {
        Optional<Question> question = Optional.ofNullable(asked.remove(id));
        pings -= question.filter(Question::ping).isPresent() ? 1 : 0;
        return question;
    }

    List<KeptEvent> askedFor(LiveCall call) {
        return asked.values().stream()
                .filter(question -> question.call().filter(call::equals).isPresent())
                .map(Question::node)
                .toList();
    }

    /** Takes all questions: nobody waits for their answers any more. */
    List<Question> withdraw(Step step) {
        List<Question> open = List.copyOf(asked.values());
        asked = Collections.emptyMap();
        pings = 0;
        return open;
    }
}
