package dev.holdfast.engine;

import java.util.concurrent.TimeUnit;

/** Leaves a store alone that has failed to delete a session, each time for longer. Thread-safe. */
final class DeletionPause {
    private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(60);

    private boolean begun;
    private long until;
    private long next = FIRST_NANOS;

    /** Whether the store is left alone now. */
    synchronized boolean lasts(long now) {
        return begun && now - until < 0;
    }

    /** The store has failed at something that was asked then; of what was asked together only the first failure counts. */
    synchronized void failed(long asked) {
        if (!lasts(asked)) {
            begun = true;
            until = asked + next;
            next = Math.min(2 * next, LONGEST_NANOS);
        }
    }

    synchronized void succeeded() {
        begun = false;
        next = FIRST_NANOS;
    }
}
