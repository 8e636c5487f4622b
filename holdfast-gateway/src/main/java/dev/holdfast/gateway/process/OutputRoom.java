package dev.holdfast.gateway.process;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * How much memory the large lines of all children together may take, from their beginning until they were passed on. A line that finds
 * no room waits, and its child is held back by the pipe. Those who wait are served in their order, and where there is no room for the
 * first of them, it goes on beyond the limit, one line at a time: whoever holds room and waits himself, or whose child pauses, stops
 * nobody. A line beyond the limit whose child does not finish it while another one waits is given up. Thread-safe.
 */
public final class OutputRoom {
    private static final int PART_OF_HEAP = 8;
    private static final Duration TURN = Duration.ofSeconds(30);

    private final long limit;
    private final Duration turn;
    private final ReentrantLock lock = new ReentrantLock();
    private final Deque<Share> waiting = new ArrayDeque<>();
    /** Whose line goes on beyond the limit. */
    private Optional<Share> beyond = Optional.empty();

    private long taken;

    /**
     * A room with this many bytes.
     *
     * @param turn how long a line beyond the limit may take while the same other one waits
     */
    public OutputRoom(long limit, Duration turn) {
        this.limit = limit;
        this.turn = turn;
    }

    /** A room of an eighth of the JVM's maximum heap. */
    public static OutputRoom ofHeap() {
        return new OutputRoom(Runtime.getRuntime().maxMemory() / PART_OF_HEAP, TURN);
    }

    /** A room that is never full, for a reader that shares it with nobody. */
    static OutputRoom withoutLimit() {
        return new OutputRoom(Long.MAX_VALUE, TURN);
    }

    /** How long a line beyond the limit may take while another one waits. */
    Duration turn() {
        return turn;
    }

    /** How many bytes are taken. */
    public long taken() {
        lock.lock();
        try {
            return taken;
        } finally {
            lock.unlock();
        }
    }

    /** How many readers wait. */
    public int waiting() {
        lock.lock();
        try {
            return waiting.size();
        } finally {
            lock.unlock();
        }
    }

    /**
     * The share of a reader that holds nothing yet.
     *
     * @param time stands still while the reader waits for room
     * @param late called, under a lock, where its line took too long; must not block
     */
    Share share(ReadingTime time, Runnable late) {
        return new Share(time, late);
    }

    private void serveNext() {
        Share first = waiting.peekFirst();
        if (first != null) {
            first.served.signal();
        }
    }

    /** What one reader holds for one line at a time. */
    final class Share {
        private final ReadingTime time;
        private final Runnable late;
        private final Condition served = lock.newCondition();
        private long held;
        private boolean whole;
        private boolean closed;

        private Share(ReadingTime time, Runnable late) {
            this.time = time;
            this.late = late;
        }

        /** Takes room for more of the line, and waits until there is; false if the share was closed. For one thread. */
        boolean take(long bytes) {
            lock.lock();
            try {
                if (!closed && !isBeyond() && !(waiting.isEmpty() && fits(bytes))) {
                    time.standsDuring(() -> waitFor(bytes));
                }
                if (!closed) {
                    held += bytes;
                    taken += bytes;
                }
                return !closed;
            } finally {
                lock.unlock();
            }
        }

        private void waitFor(long bytes) {
            waiting.addLast(this);
            try {
                while (!closed && waiting.peekFirst() != this) {
                    served.await();
                }
                long headSince = System.nanoTime();
                while (!closed && !fits(bytes) && !goesBeyond()) {
                    Share other = beyond.orElseThrow();
                    long left = turn.toNanos() - (System.nanoTime() - headSince);
                    if (other.whole) {
                        // it is being passed on, which does not take long
                        served.await();
                    } else if (left > 0) {
                        long unused = served.awaitNanos(left);
                    } else {
                        other.expel();
                    }
                }
            } catch (InterruptedException e) {
                closed = true;
                Thread.currentThread().interrupt();
            } finally {
                waiting.remove(this);
                serveNext();
            }
        }

        private boolean fits(long bytes) {
            return bytes <= limit - taken;
        }

        private boolean isBeyond() {
            return beyond.filter(share -> share == this).isPresent();
        }

        /** Goes on beyond the limit, if nobody else does. */
        private boolean goesBeyond() {
            if (beyond.isEmpty()) {
                beyond = Optional.of(this);
            }
            return isBeyond();
        }

        private void expel() {
            closed = true;
            giveAll();
            late.run();
        }

        /** The line is whole, and is about to be passed on: nobody waits for its child any more; false if the share was closed. */
        boolean whole() {
            lock.lock();
            try {
                whole = true;
                return !closed;
            } finally {
                lock.unlock();
            }
        }

        /** The line was passed on: gives back what it took. */
        void give() {
            lock.lock();
            try {
                giveAll();
            } finally {
                lock.unlock();
            }
        }

        /** Gives back what is held, and takes no more. */
        void close() {
            lock.lock();
            try {
                closed = true;
                giveAll();
                served.signal();
            } finally {
                lock.unlock();
            }
        }

        private void giveAll() {
            taken -= held;
            held = 0;
            whole = false;
            if (isBeyond()) {
                beyond = Optional.empty();
            }
            serveNext();
        }
    }
}
