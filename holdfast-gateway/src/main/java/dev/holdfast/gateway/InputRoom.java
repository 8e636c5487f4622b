package dev.holdfast.gateway;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How much may wait for all children together to read it. However little room is left, a child's own queue may be short, or be a
 * single message: whose child reads, is not hit by those whose do not. Thread-safe.
 */
final class InputRoom {
    private static final long SHORT_QUEUE = 64 << 10;
    private static final int PART_OF_HEAP = 8;

    private final long limit;
    private final AtomicLong taken = new AtomicLong();

    /** Room of so many bytes. */
    InputRoom(long limit) {
        this.limit = limit;
    }

    /** An eighth of what memory there may be. */
    static InputRoom ofHeap() {
        return new InputRoom(Runtime.getRuntime().maxMemory() / PART_OF_HEAP);
    }

    /**
     * Takes room for a message, to be given back; false if there is none.
     *
     * @param queued how much waits for the same child already, in bytes
     */
    boolean take(long bytes, long queued) {
        if (queued == 0 || queued + bytes <= SHORT_QUEUE) {
            taken.addAndGet(bytes);
            return true;
        }
        long now = taken.get();
        while (now + bytes <= limit) {
            if (taken.compareAndSet(now, now + bytes)) {
                return true;
            }
            now = taken.get();
        }
        return false;
    }

    void give(long bytes) {
        taken.addAndGet(-bytes);
    }

    /** How much is taken. */
    long taken() {
        return taken.get();
    }
}
