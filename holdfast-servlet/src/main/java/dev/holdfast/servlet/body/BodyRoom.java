package dev.holdfast.servlet.body;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory that all bodies of an endpoint may take while they are on their way. A quarter of it is for the first piece of each
 * alone, so that small messages get through where large ones wait for one another, or are held back by a client that means
 * harm. Safe for use by any thread.
 */
final class BodyRoom {
    private final long most;
    private final long mostForMore;
    private final AtomicLong taken = new AtomicLong();

    BodyRoom(long most) {
        this.most = most;
        this.mostForMore = most - most / 4;
    }

    /** A room of so many bytes, but of as many as the largest body needs at least. */
    static BodyRoom of(long bytes, int largest) {
        // a body that may be too large takes one byte more to be known as such
        return new BodyRoom(Math.max(bytes, largest + largest / 3L + 4));
    }

    /** Takes bytes for the first piece of a body if there are so many; whoever has taken some gives them back once. */
    boolean takeFirst(long bytes) {
        return take(bytes, most);
    }

    /** Takes bytes for more than the first piece of a body if there are so many. */
    boolean takeMore(long bytes) {
        return take(bytes, mostForMore);
    }

    private boolean take(long bytes, long upTo) {
        if (taken.addAndGet(bytes) <= upTo) {
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
