package dev.holdfast.gateway.process;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How much may wait for all children together to read it. However little room is left, a child's own queue may be short; and for
 * the only message that waits for a child there is as much room again. So whose child reads, is hardly hit by those whose do not.
 * Thread-safe.
 */
public final class InputRoom {
    private static final long SHORT_QUEUE = 64 << 10;
    private static final int PART_OF_HEAP = 8;

    private final long limit;
    private final AtomicLong taken = new AtomicLong();

    /** A room with this many bytes. */
    InputRoom(long limit) {
        this.limit = limit;
    }

    /** A room of an eighth of the JVM's maximum heap. */
    public static InputRoom ofHeap() {
        return new InputRoom(Runtime.getRuntime().maxMemory() / PART_OF_HEAP);
    }

    /**
     * Takes room for a message, to be given back; false if there is none.
     *
     * @param waiting how much waits for the same child already, in bytes, without what is being written
     */
    boolean take(long bytes, long waiting) {
        if (waiting + bytes <= SHORT_QUEUE) {
            taken.addAndGet(bytes);
            return true;
        }
        long most = waiting == 0 ? 2 * limit : limit;
        long now = taken.get();
        while (now + bytes <= most) {
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

    /** How many bytes are taken. */
    long taken() {
        return taken.get();
    }
}
