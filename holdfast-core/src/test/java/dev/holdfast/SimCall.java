package dev.holdfast;

import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** One POST of a client, as the simulation knows it. */
final class SimCall {
    final SimSession session;
    final int index;
    final List<InboundMessage> requests;
    final CompletableFuture<Call.Outcome> outcome = new CompletableFuture<>();
    /** Requests that a backend has got. */
    final Set<RequestId> handed = new HashSet<>();
    /** Requests that were cancelled, as far as their client knows in time. */
    final Set<RequestId> cancelled = new HashSet<>();
    /** Requests that were cancelled when an answer may have been on its way already. */
    final Set<RequestId> perhapsCancelled = new HashSet<>();
    /** Requests whose answer the client has. */
    final Set<RequestId> answers = new HashSet<>();

    Optional<Call> call = Optional.empty();
    Optional<StreamId> stream = Optional.empty();
    boolean dispatched;
    /** What the client will name as its cursor. */
    Optional<EventId> cursor = Optional.empty();

    SimCall(SimSession session, List<InboundMessage> requests) {
        this.session = session;
        this.index = session.calls.size();
        this.requests = requests;
    }

    boolean over() {
        return requests.stream()
                .map(InboundMessage::requiredId)
                .allMatch(id -> cancelled.contains(id) || perhapsCancelled.contains(id) || session.log.answered(id));
    }

    /** Whether nothing but cancellations has ended it, as far as anybody outside can tell. */
    boolean cancelled() {
        return requests.stream()
                .map(InboundMessage::requiredId)
                .allMatch(id -> !session.log.answered(id) && (cancelled.contains(id) || perhapsCancelled.contains(id)));
    }

    boolean has(RequestId id) {
        return requests.stream().anyMatch(request -> request.requiredId().equals(id));
    }
}
