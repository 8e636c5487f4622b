package dev.holdfast.gateway.stdio;

import java.util.concurrent.CompletionStage;

/** Holds back who reads a child while too much of what it read waits for the store. */
final class CommitGate {
    private final long limit;
    private long waiting;
    private boolean open;

    /** A gate that closes when more than {@code limit} bytes wait. */
    CommitGate(long limit) {
        this.limit = limit;
    }

    /** Counts a message until its commit. */
    void sent(int bytes, CompletionStage<Void> commit) {
        if (commit.toCompletableFuture().isDone()) {
            return;
        }
        add(bytes);
        commit.whenComplete((done, failure) -> add(-bytes));
    }

    private synchronized void add(int bytes) {
        waiting += bytes;
        if (bytes < 0) {
            notifyAll();
        }
    }

    /** Waits until there is room. */
    synchronized void pass() {
        try {
            while (waiting > limit && !open) {
                wait();
            }
        } catch (InterruptedException e) {
            open = true;
            Thread.currentThread().interrupt();
        }
    }

    /** Whether somebody is held back. */
    synchronized boolean holds() {
        return waiting > limit && !open;
    }

    /** Holds nobody back any more. */
    synchronized void open() {
        open = true;
        notifyAll();
    }
}
