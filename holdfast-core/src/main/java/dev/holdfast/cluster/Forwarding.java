package dev.holdfast.cluster;

import dev.holdfast.Call;
import dev.holdfast.Refusal;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.StreamReader;
import dev.holdfast.session.LiveCall;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionStore.Look;
import dev.holdfast.spi.SharedSessionStore.Member;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The way of a call to the node that has the session's backend, where that exists once, through that node's inbox. Who hears nothing
 * for as long as a lease looks whether that node lives. When it does not, the log decides: a call that it has started is read on, and
 * ended or run again; one that it has not is run as new, for what stands in a dead inbox is never run. A call that the node does not
 * take, because it drains or has just left the session, waits until the backend may be opened elsewhere.
 */
final class Forwarding {
    private static final long FIRST_PAUSE_MILLIS = 25;
    private static final long MOST_PAUSE_MILLIS = 500;
    private static final int MOST_DOUBLINGS = 5;
    /** With the pauses between them some 30 s: so long a call waits for a backend that nobody has to give. */
    private static final int MOST_ATTEMPTS = 64;

    private final NodeStore store;
    private final Lease lease;
    private final Placement placement;
    private final Surroundings surroundings;
    private final AtomicLong numbers = new AtomicLong();
    private final Map<Long, CompletableFuture<Optional<NodeMessage>>> waiting = new ConcurrentHashMap<>();

    /**
     * A call that has been started on another node.
     *
     * @param epoch the epoch that has started it
     * @param writer the node that writes its stream; empty for none
     */
    record Started(StreamId stream, Epoch epoch, String writer) {}

    /** What it needs of its node. */
    interface Surroundings {
        /** Does something later. */
        void later(Runnable task, long millis);

        /** Does something when a lease may have lapsed since now. */
        void afterLease(Runnable task);

        /** Does something elsewhere, where it may block; false if nobody does it. */
        boolean elsewhere(Runnable task);

        /** Lets a client read the stream of a call that another node runs, from its start. */
        CompletionStage<StreamReader> read(LiveSession session, Started call, List<RequestId> requests);

        /** Finds out where the stream of a call stands. */
        CompletionStage<Writers.Standing> standing(LiveSession session, StreamId stream);
    }

    Forwarding(NodeStore store, Lease lease, Placement placement, Surroundings surroundings) {
        this.store = store;
        this.lease = lease;
        this.placement = placement;
        this.surroundings = surroundings;
    }

    /** Runs a call where the backend is. */
    CompletionStage<Call.Outcome> call(LiveSession session, List<InboundMessage> requests) {
        return call(session, requests, 1);
    }

    /** Hands a notification to the backend where that is. */
    CompletionStage<Optional<Refusal>> notify(LiveSession session, InboundMessage notification) {
        return placement
                .of(session)
                .thenCompose(place -> place instanceof Placement.There there
                        ? store.bus()
                                .send(
                                        there.member().node(),
                                        new NodeMessage.Notified(session.key(), notification).pack())
                                .thenApply(sent -> sent ? Optional.empty() : Optional.of(Refusal.BACKEND))
                        : session.notify(notification));
    }

    /** The session is read here: the node that has its backend keeps it. */
    void read(LiveSession session) {
        placement.of(session).thenAccept(place -> {
            if (place instanceof Placement.There there) {
                reply(there.member().node(), new NodeMessage.Read(session.key()));
            }
        });
    }

    private CompletionStage<Call.Outcome> call(LiveSession session, List<InboundMessage> requests, int attempt) {
        return placement
                .of(session)
                .thenCompose(place -> place instanceof Placement.There there
                        ? forward(session, requests, there.member(), attempt)
                        : session.call(requests));
    }

    /** Looks again after a pause who has the backend. */
    private CompletionStage<Call.Outcome> again(LiveSession session, List<InboundMessage> requests, int attempt) {
        if (attempt == MOST_ATTEMPTS) {
            return CompletableFuture.failedFuture(
                    new StoreUnavailableException(new IllegalStateException("no node takes the call")));
        }
        long pause = Math.min(FIRST_PAUSE_MILLIS << Math.min(attempt - 1, MOST_DOUBLINGS), MOST_PAUSE_MILLIS);
        CompletableFuture<Void> over = new CompletableFuture<>();
        surroundings.later(() -> over.complete(null), pause);
        return over.thenCompose(now -> call(session, requests, attempt + 1));
    }

    private CompletionStage<Call.Outcome> forward(
            LiveSession session, List<InboundMessage> requests, Member host, int attempt) {
        long number = numbers.incrementAndGet();
        CompletableFuture<Optional<NodeMessage>> answer = new CompletableFuture<>();
        waiting.put(number, answer);
        NodeMessage message = new NodeMessage.Forwarded(session.key(), lease.node(), number, requests);
        return store.bus()
                .send(host.node(), message.pack())
                .thenCompose(sent -> {
                    if (!sent) {
                        return again(session, requests, attempt);
                    }
                    watch(host, answer);
                    return answer.thenCompose(said -> said.isPresent()
                            ? answered(session, requests, host, said.get(), attempt)
                            : dead(session, requests, host, attempt));
                })
                .whenComplete((outcome, failure) -> waiting.remove(number));
    }

    /** Looks from time to time whether the node that was asked still lives; it has no answer any more when it does not. */
    private void watch(Member host, CompletableFuture<Optional<NodeMessage>> answer) {
        surroundings.afterLease(() -> {
            if (!answer.isDone()) {
                store.lives(Optional.of(host)).whenComplete((lives, failure) -> {
                    if (failure == null && !lives) {
                        answer.complete(Optional.empty());
                    } else {
                        watch(host, answer);
                    }
                });
            }
        });
    }

    private CompletionStage<Call.Outcome> answered(
            LiveSession session, List<InboundMessage> requests, Member host, NodeMessage said, int attempt) {
        if (said instanceof NodeMessage.Taken taken) {
            return taken.stream().equals(StreamId.LISTENING)
                    ? CompletableFuture.completedFuture(new Call.Accepted(new RemoteCall(Optional.empty())))
                    : read(session, requests, new Started(taken.stream(), taken.epoch(), host.node()));
        }
        ForwardedAnswer why = said instanceof NodeMessage.Declined declined ? declined.why() : ForwardedAnswer.NOT_HERE;
        if (why.kind() == ForwardedAnswer.Kind.FAILED) {
            return CompletableFuture.failedFuture(new StoreUnavailableException(null));
        }
        return why.outcome()
                .<CompletionStage<Call.Outcome>>map(CompletableFuture::completedFuture)
                .orElseGet(() -> again(session, requests, attempt));
    }

    private CompletionStage<Call.Outcome> read(LiveSession session, List<InboundMessage> requests, Started call) {
        List<RequestId> ids = requests.stream().map(InboundMessage::requiredId).toList();
        return surroundings
                .read(session, call, ids)
                .thenApply(reader -> new Call.Accepted(new RemoteCall(Optional.of(reader))));
    }

    /** The node that was asked has died: the log knows whether it has started the call. */
    private CompletionStage<Call.Outcome> dead(
            LiveSession session, List<InboundMessage> requests, Member host, int attempt) {
        // from here on it starts nothing
        return store.fence(session.key(), host.epoch())
                .thenCompose(fenced -> store.look(session.key()))
                .thenCompose(look -> look.map(found -> started(session, requests, host, found))
                        .orElseGet(() -> CompletableFuture.completedFuture(Optional.empty())))
                .thenCompose(stream -> stream.isEmpty()
                        ? call(session, requests, attempt + 1)
                        : surroundings
                                .standing(session, stream.get())
                                .thenCompose(standing -> session.listensOnly()
                                        ? CompletableFuture.completedFuture(
                                                new Call.Accepted(new RemoteCall(Optional.empty())))
                                        : read(session, requests, new Started(stream.get(), host.epoch(), ""))));
    }

    /** The stream of a call that a node has started: one that runs, or one that has the answer. */
    private CompletionStage<Optional<StreamId>> started(
            LiveSession session, List<InboundMessage> requests, Member host, Look look) {
        RequestId first = requests.get(0).requiredId();
        int epoch = host.epoch().counter();
        Optional<StreamId> running = look.record().running().entrySet().stream()
                .filter(call -> call.getKey().epoch() == epoch
                        && call.getValue().requests().contains(first))
                .map(Map.Entry::getKey)
                .findFirst();
        if (running.isPresent()) {
            return CompletableFuture.completedFuture(running);
        }
        CompletionStage<Optional<StreamId>> found = CompletableFuture.completedFuture(Optional.empty());
        for (StreamId stream : look.streams().keySet()) {
            if (stream.epoch() == epoch) {
                found = found.thenCompose(before -> before.isPresent()
                        ? CompletableFuture.completedFuture(before)
                        : answers(session, stream, first)
                                .thenApply(answered -> answered ? Optional.of(stream) : Optional.empty()));
            }
        }
        return found;
    }

    private CompletionStage<Boolean> answers(LiveSession session, StreamId stream, RequestId request) {
        return store.read(session.key(), stream, 0, Integer.MAX_VALUE)
                .thenApply(events -> events.stream()
                        .anyMatch(event -> EventKind.answers(event.kind()) && request.equals(event.id())));
    }

    /** Another node has said what became of a call. */
    void said(long number, NodeMessage answer) {
        CompletableFuture<Optional<NodeMessage>> asked = waiting.get(number);
        if (asked != null) {
            asked.complete(Optional.of(answer));
        }
    }

    /** Another node wants a call to be run here. */
    void run(LiveSession session, NodeMessage.Forwarded call) {
        StoreQuestion.ask(() -> session.call(call.requests())).whenComplete((outcome, failure) -> {
            if (outcome instanceof Call.Accepted accepted) {
                run(session, call, accepted.call());
            } else {
                ForwardedAnswer why = failure == null ? ForwardedAnswer.of(outcome) : ForwardedAnswer.FAILED;
                reply(call.from(), new NodeMessage.Declined(session.key(), call.number(), why));
            }
        });
    }

    private void run(LiveSession session, NodeMessage.Forwarded forwarded, Call call) {
        StreamId stream = call instanceof LiveCall live ? live.streamRead() : StreamId.LISTENING;
        // its client reads it on the node that has forwarded it
        call.reader().ifPresent(reader -> reader.close(StreamReader.Close.IN_ORDER));
        reply(
                forwarded.from(),
                new NodeMessage.Taken(
                        session.key(),
                        forwarded.number(),
                        stream,
                        session.shared().epoch()));
        if (!surroundings.elsewhere(call::dispatch)) {
            call.dispatch();
        }
    }

    /** There is no such session in memory here, or too much waits for it. */
    void declined(NodeMessage.Forwarded call) {
        reply(call.from(), new NodeMessage.Declined(call.key(), call.number(), ForwardedAnswer.NOT_HERE));
    }

    private void reply(String node, NodeMessage answer) {
        store.bus().send(node, answer.pack());
    }
}
