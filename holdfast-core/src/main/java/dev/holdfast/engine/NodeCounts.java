package dev.holdfast.engine;

import dev.holdfast.NodeLimits;
import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What of a node is under way: sessions of which something is left, requests in flight, calls on their way to other nodes, backends that
 * close. Safe for any thread.
 */
final class NodeCounts {
    private final AtomicInteger sessions = new AtomicInteger();
    private final Quota running;
    private final AtomicInteger forwarded = new AtomicInteger();
    private final AtomicInteger closing = new AtomicInteger();

    NodeCounts(NodeLimits limits) {
        this.running = new Quota(limits.runningCalls(), limits.principalShare(), Refusal.NODE_CALLS);
    }

    void sessionBegun() {
        sessions.incrementAndGet();
    }

    void sessionEnded() {
        sessions.decrementAndGet();
    }

    /** How many requests are in flight, here or on their way to other nodes. */
    int running() {
        return Math.toIntExact(running.taken());
    }

    /** Why so many more requests of a principal may not be in flight, if they may not. */
    Optional<Refusal> noRoomFor(String principal, int requests) {
        return running.refusal(principal, requests);
    }

    /** So many more requests of a principal are in flight, or fewer. */
    void running(String principal, int more) {
        running.add(principal, more);
    }

    /** How many calls are on their way to other nodes, and have no outcome yet. */
    int forwarded() {
        return forwarded.get();
    }

    /** So many more calls are on their way to other nodes, or fewer. */
    void forwarded(int more) {
        forwarded.addAndGet(more);
    }

    void closing(CompletionStage<Void> backend) {
        closing.incrementAndGet();
        backend.whenComplete((gone, failure) -> closing.decrementAndGet());
    }

    boolean nothingIsLeft() {
        return sessions.get() == 0 && closing.get() == 0;
    }
}
