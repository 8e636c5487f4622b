package dev.holdfast.servlet;

import java.util.concurrent.atomic.AtomicLong;

/** The memory that all bodies of an endpoint may take while they are on their way. Safe for use by any thread. */
final class BodyRoom {
    private final long most;
    private final AtomicLong taken = new AtomicLong();

    BodyRoom(long most) {
        this.most = most;
    }

    /** Takes bytes if there are so many; whoever has taken some gives them back once. */
    boolean take(long bytes) {
        if (taken.addAndGet(bytes) <= most) {
            return true;
        }
        taken.addAndGet(-bytes);
        return false;
    }

    void giveBack(long bytes) {
        taken.addAndGet(-bytes);
    }

    /** How many bytes are taken. */
    long taken() {
        return taken.get();
    }
}
