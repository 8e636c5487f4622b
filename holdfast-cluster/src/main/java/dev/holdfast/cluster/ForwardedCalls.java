package dev.holdfast.cluster;

import dev.holdfast.Call;
import dev.holdfast.StreamReader;
import dev.holdfast.session.LiveCall;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.spi.StreamId;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/**
 * The calls that other nodes hand to this one by {@link Forwarding}, because the backend of their session is here. A call may come
 * more than once, and runs once; what is said of it is said each time.
 */
final class ForwardedCalls {
    /** So many answers are kept for calls that come once more. */
    private static final int KEPT = 2 * ClusterBus.INBOX_MESSAGES;

    private final NodeStore store;
    private final Lease lease;
    private final JournalVersions versions;
    private final Executor blocking;
    /** What was said of those that have come last, and what is still to be said. */
    private final Map<Name, CompletableFuture<NodeMessage>> answers =
            Collections.synchronizedMap(new LinkedHashMap<>(16, 0.75f, true) {
                @Override
                protected boolean removeEldestEntry(Map.Entry<Name, CompletableFuture<NodeMessage>> eldest) {
                    return size() > KEPT && eldest.getValue().isDone();
                }
            });

    /** What no other call has. */
    private record Name(String from, long number) {
        static Name of(NodeMessage.Forwarded call) {
            return new Name(call.from(), call.number());
        }
    }

    /**
     * @param blocking does something where it may block
     */
    ForwardedCalls(NodeStore store, Lease lease, JournalVersions versions, Executor blocking) {
        this.store = store;
        this.lease = lease;
        this.versions = versions;
        this.blocking = blocking;
    }

    /** Whether a call has not come before; one that has gets the answer that there is, which may have been lost. */
    boolean comesFirst(NodeMessage.Forwarded call) {
        CompletableFuture<NodeMessage> answer = answers.putIfAbsent(Name.of(call), new CompletableFuture<>());
        if (answer != null && answer.isDone()) {
            send(call, answer.join());
        }
        return answer == null;
    }

    /** Runs a call, unless nothing of it is wanted any more. */
    void run(LiveSession session, NodeMessage.Forwarded call) {
        if (call.requests().isEmpty()) {
            decline(call);
            return;
        }
        StoreQuestion.ask(() -> session.call(call.requests(), call.number(), call.behind())
                        .thenCompose(begun -> versions.catchUpFor(session, begun)))
                .whenComplete((outcome, failure) -> {
                    if (outcome instanceof Call.Accepted accepted) {
                        taken(session, call, accepted.call());
                        blocking.execute(accepted.call()::dispatch);
                    } else {
                        ForwardedAnswer why = failure == null ? ForwardedAnswer.of(outcome) : ForwardedAnswer.FAILED;
                        reply(call, new NodeMessage.Declined(session.key(), call.number(), why));
                    }
                });
    }

    private void taken(LiveSession session, NodeMessage.Forwarded forwarded, Call call) {
        StreamId stream = call instanceof LiveCall live ? live.streamRead() : StreamId.LISTENING;
        // its client reads it on the node that has forwarded it
        call.reader().ifPresent(reader -> reader.close(StreamReader.Close.IN_ORDER));
        reply(
                forwarded,
                new NodeMessage.Taken(
                        session.key(),
                        forwarded.number(),
                        stream,
                        session.replica().epoch()));
    }

    /** There is no such session in memory here, or too much waits for it. */
    void decline(NodeMessage.Forwarded call) {
        reply(call, new NodeMessage.Declined(call.key(), call.number(), ForwardedAnswer.NOT_HERE));
    }

    private void reply(NodeMessage.Forwarded call, NodeMessage answer) {
        CompletableFuture<NodeMessage> asked = answers.get(Name.of(call));
        if (asked != null) {
            asked.complete(answer);
        }
        send(call, answer);
    }

    private void send(NodeMessage.Forwarded call, NodeMessage answer) {
        byte[] message = answer.pack();
        // without a lease nobody waits for it: whoever has asked finds this node dead
        CompletionStage<Boolean> unused = StoreQuestion.ask(() ->
                store.insist(lease.node(), () -> store.bus().send(call.from(), message)));
    }
}
