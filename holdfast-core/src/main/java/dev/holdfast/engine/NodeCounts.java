package dev.holdfast.engine;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What of a node is under way: sessions of which something is left, requests in flight, calls on their way to other nodes, backends that
 * close. Safe for any thread.
 */
final class NodeCounts {
    private final AtomicInteger sessions = new AtomicInteger();
    private final AtomicInteger running = new AtomicInteger();
    private final AtomicInteger forwarded = new AtomicInteger();
    private final AtomicInteger closing = new AtomicInteger();

    void sessionBegun() {
        sessions.incrementAndGet();
    }

    void sessionEnded() {
        sessions.decrementAndGet();
    }

    /** How many requests are in flight, here or on their way to other nodes. */
    int running() {
        return running.get();
    }

    /** So many more requests are in flight, or fewer. */
    void running(int more) {
        running.addAndGet(more);
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
