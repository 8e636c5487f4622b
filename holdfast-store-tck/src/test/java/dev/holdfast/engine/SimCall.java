package dev.holdfast.engine;

import dev.holdfast.Call;
import dev.holdfast.EventId;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** One POST of a client, as the simulation knows it. */
final class SimCall {
    private static final int MOST_RUNS = 3;

    final SimSession session;
    final int index;
    final List<InboundMessage> requests;
    final CompletableFuture<Call.Outcome> outcome = new CompletableFuture<>();
    /** In which lives of the session backends have got which requests. */
    private final Map<RequestId, List<Integer>> handed = new HashMap<>();
    /** The life of the session in which it was posted. */
    final int postedIn;
    /** How far the client was told that it is. */
    double progress;
    /** The client was told that nobody knows its stream any more. */
    boolean unknown;
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

    /** Whether what was noted of it is kept. */
    Optional<CompletableFuture<Boolean>> noting = Optional.empty();

    SimCall(SimSession session, List<InboundMessage> requests) {
        this.session = session;
        this.index = session.calls.size();
        this.requests = requests;
        this.postedIn = session.life;
    }

    /** Whether it may be run again after a death of its process. */
    boolean harmless() {
        return session.world.durable && requests.size() == 1 && SimBackend.harmless(requests.get(0));
    }

    /** A backend gets a request: once, or once in each of a few lives. */
    boolean handTo(RequestId request, int life) {
        List<Integer> lives = handed.computeIfAbsent(request, id -> new ArrayList<>());
        boolean first = lives.isEmpty();
        boolean again = harmless() && lives.size() < MOST_RUNS && !lives.contains(life);
        lives.add(life);
        return first || again;
    }

    /** Whether its process may have died of it so often that it is not run again. */
    boolean tried() {
        return session.life - postedIn >= MOST_RUNS;
    }

    /** Whether its client knows where to come back to. */
    boolean told() {
        return session.listensOnly || cursor.isPresent();
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

    /** Whether its client wants nothing more of it, and nobody else may come back for it. */
    boolean left() {
        return cancelled() && !noted();
    }

    /** Whether the edge may note something of it now. */
    boolean mayBeNoted() {
        return noting.isEmpty() && stream.isPresent() && call.isPresent() && postedIn == session.life && !over();
    }

    /** Whether it is not known yet that a note of it is kept, or is not. */
    boolean mayBecomeNoted() {
        return noting.filter(note -> !note.isDone() || session.world.store.busy(session))
                .isPresent();
    }

    /** Whether a note of it is kept. */
    boolean noted() {
        return stream.stream()
                .flatMap(id -> session.log.after(id, 0).stream())
                .anyMatch(fact -> fact.note() && !fact.dropped);
    }

    boolean has(RequestId id) {
        return requests.stream().anyMatch(request -> request.requiredId().equals(id));
    }
}
