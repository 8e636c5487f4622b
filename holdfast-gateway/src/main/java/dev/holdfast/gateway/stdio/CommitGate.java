package dev.holdfast.gateway.stdio;

import java.util.concurrent.CompletionStage;

/** Blocks the reader of a child while too many bytes that it has read wait for the store. */
final class CommitGate {
    private final long limit;
    private long waiting;
    private boolean open;

    /** A gate that closes when more than {@code limit} bytes wait. */
    CommitGate(long limit) {
        this.limit = limit;
    }

    /** Counts the bytes of a message until it is committed. */
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

    /** Lets everybody pass from now on. */
    synchronized void open() {
        open = true;
        notifyAll();
    }
}
