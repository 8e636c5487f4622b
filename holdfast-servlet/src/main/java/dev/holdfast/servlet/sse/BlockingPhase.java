package dev.holdfast.servlet.sse;

import dev.holdfast.servlet.io.BlockingPool;
import java.util.concurrent.TimeUnit;

/**
 * The time of a connection in which a write may wait for the client, until its request is asynchronous. While the request's thread is
 * busy, as a handler may hold it, only that thread and some helpers write. What comes right behind a message is gathered
 * meanwhile, to be one write with what follows it. For the holder of the pump, unless a method says otherwise.
 */
final class BlockingPhase {
    /**
     * How long the head of a call's stream waits at least for the call's first message, to be one write with it, and a message that
     * comes right behind another for those behind it; until the clock comes by.
     */
    static final long GATHER_NANOS = TimeUnit.MILLISECONDS.toNanos(4);

    /** What is written at once, unless one event alone is longer. */
    static final int BATCH_BYTES = 32 << 10;

    /** What may be written in all: what fits into the buffers of a socket that nothing was written to. */
    private static final int MOST_BYTES = 2 * BATCH_BYTES;

    /** What a container surely keeps until the response is complete, head of the response and all. */
    private static final int KEPT_BYTES = 7 << 10;

    private final Thread requestThread = Thread.currentThread();
    private volatile BlockingPool helpers;

    /** For the request's thread alone. */
    private boolean returning;

    private volatile boolean over;
    private volatile boolean endless;
    private volatile boolean begun;
    private int written;
    private boolean writtenHere;

    BlockingPhase(BlockingPool helpers) {
        this.helpers = helpers;
    }

    /** The request's thread is done; called by it. */
    void threadReturns() {
        returning = true;
    }

    /** The request is asynchronous; for any thread. */
    void end() {
        over = true;
    }

    /** Whether the request is asynchronous, and nothing blocks any more; for any thread. */
    boolean ended() {
        return over && !endless;
    }

    /** The response never learns to write without blocking: these threads write it from here on, and no other. */
    void neverEnds(BlockingPool writers) {
        helpers = writers;
        endless = true;
    }

    /** Who writes for others, and may wait for the client; for any thread. */
    BlockingPool helpers() {
        return helpers;
    }

    /** Whether what is new may block no more: for the request's thread once that is done, for others once it has gone. */
    boolean isOver() {
        return !endless && (over || (returning && Thread.currentThread() == requestThread));
    }

    /** Whether something was written; for any thread. */
    boolean begun() {
        return begun;
    }

    /** Whether the current thread may wait for the client while the request's own is busy. */
    boolean mayWaitHere() {
        return helpers.here() || (!endless && Thread.currentThread() == requestThread);
    }

    /**
     * Whether what comes now waits for more, and for the request's thread: not where nobody else could write it in time.
     *
     * @param sinceWrite how long ago the last write was, in nanoseconds
     */
    boolean gathers(long sinceWrite) {
        return written > 0 && !isOver() && sinceWrite < GATHER_NANOS && helpers.free();
    }

    /** How many bytes of messages the next write shall have: with what frames add to most of them, it fits. */
    int room() {
        return written == 0 || endless || isOver()
                ? BATCH_BYTES
                : Math.max(1, Math.min(BATCH_BYTES, MOST_BYTES - written) / 2);
    }

    /**
     * How much of so many bytes may be written now.
     *
     * @param last whether the response ends with it
     * @param due whether some of it shall go ahead though it is too long
     */
    int mayWrite(int length, boolean last, boolean due) {
        if (written == 0 && last && length <= KEPT_BYTES) {
            return length;
        }
        // the request's thread that is done may still write the end of what it has begun
        boolean mayWait = isOver() ? !over && last && writtenHere : mayWaitHere();
        if (!mayWait) {
            return 0;
        }
        int left = endless ? MOST_BYTES : MOST_BYTES - written;
        return length <= left || written > 0 || due ? Math.min(length, left) : 0;
    }

    /** So much is about to be written; none of it may block once the phase is over. */
    void writes(int size) {
        written += size;
        writtenHere |= Thread.currentThread() == requestThread;
        begun = true;
    }
}
