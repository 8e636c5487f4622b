package dev.holdfast.client.wire;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * How much memory the large messages of all servers together may take, from their beginning until they were passed on. A message that finds
 * no room is not read on, and its server is held back by the connection. Those that wait are served in their order, and where there is no
 * room for the first of them, it goes on beyond the limit, one at a time: whoever holds room and waits himself, or whose server pauses,
 * stops nobody. One beyond the limit whose server does not finish it while another one waits is given up. Holds no thread. Thread-safe.
 */
public final class AnswerRoom {
    /** So much of a message takes no room. */
    static final int FREE = 64 << 10;
    /** While a message grows or is copied it is there three times. */
    static final int COPIES = 3;

    private static final int PART_OF_HEAP = 8;
    private static final Duration TURN = Duration.ofSeconds(30);

    private final long limit;
    private final Duration turn;
    private final ReentrantLock lock = new ReentrantLock();
    private final Deque<Wait> waiting = new ArrayDeque<>();
    /** Whose message goes on beyond the limit. */
    private Optional<Share> beyond = Optional.empty();
    /** Ends the turn of the message beyond the limit, for the first of those that wait. */
    private Future<?> turnEnd = CompletableFuture.completedFuture(null);

    private long waits;
    /** The number of the first of those that wait. */
    private long watched;

    private long taken;

    /** A message that waits until it may be read on. */
    private static final class Wait {
        private final Share share;
        private final long bytes;
        private final Runnable goOn;
        private final long number;

        private Wait(Share share, long bytes, Runnable goOn, long number) {
            this.share = share;
            this.number = number;
            this.bytes = bytes;
            this.goOn = goOn;
        }

        private void goOn() {
            share.means.due().execute(() -> {
                if (!share.closed) {
                    goOn.run();
                }
            });
        }
    }

    /**
     * A room with this many bytes.
     *
     * @param turn how long a message beyond the limit may take while the same other one waits
     */
    public AnswerRoom(long limit, Duration turn) {
        this.limit = limit;
        this.turn = turn;
    }

    /** A room of an eighth of the JVM's maximum heap. */
    public static AnswerRoom ofHeap() {
        return new AnswerRoom(Runtime.getRuntime().maxMemory() / PART_OF_HEAP, TURN);
    }

    /** A room that is never full. */
    public static AnswerRoom withoutLimit() {
        return new AnswerRoom(Long.MAX_VALUE, TURN);
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

    /** How many messages wait. */
    public int waiting() {
        lock.lock();
        try {
            return waiting.size();
        } finally {
            lock.unlock();
        }
    }

    /**
     * The share of one reader, which holds nothing yet.
     *
     * @param late hears why a message is given up; must not block
     */
    Share share(Means means, Consumer<IOException> late) {
        return new Share(means, late);
    }

    /** Lets those go on for whom there is room now. */
    private void serve() {
        List<Wait> served = new ArrayList<>();
        lock.lock();
        try {
            for (Wait first = waiting.peekFirst(); first != null && first.share.gets(first.bytes); ) {
                served.add(waiting.removeFirst());
                first = waiting.peekFirst();
            }
            watchFirst();
        } finally {
            lock.unlock();
        }
        served.forEach(Wait::goOn);
    }

    private void watchFirst() {
        Wait first = waiting.peekFirst();
        long number = first == null ? 0 : first.number;
        if (watched != number) {
            watched = number;
            turnEnd.cancel(false);
            if (first != null) {
                watch(first);
            }
        }
    }

    /** Keeps a number only, until the turn is over: what waits may be large. */
    private void watch(Wait first) {
        long number = first.number;
        turnEnd = first.share.means.clock().schedule(() -> turnIsOver(number), turn.toNanos(), TimeUnit.NANOSECONDS);
    }

    private void turnIsOver(long number) {
        Share other;
        lock.lock();
        try {
            Wait first = waiting.peekFirst();
            if (first == null || first.number != number) {
                return;
            }
            other = beyond.orElseThrow();
            if (other.passing) {
                // who takes it does not take long
                watch(first);
                return;
            }
            other.closed = true;
            other.giveAll();
        } finally {
            lock.unlock();
        }
        other.late.accept(new IOException("the server did not finish a large message while others waited"));
        serve();
    }

    /** What one reader holds for one message at a time. */
    final class Share {
        private final Means means;
        private final Consumer<IOException> late;
        /** Whether it may hold something, or wait: most messages are small, and do without the lock. */
        private volatile boolean used;

        private volatile boolean closed;
        private boolean passing;
        private long held;

        private Share(Means means, Consumer<IOException> late) {
            this.means = means;
            this.late = late;
        }

        /**
         * Takes room for a message of which so many bytes are there, and goes on reading: at once, or on another thread when there is room.
         * Never goes on once it is closed. For one thread at a time.
         */
        void hold(int size, Runnable goOn) {
            boolean now = !closed;
            if (size <= FREE) {
                give();
            } else {
                now = took((long) COPIES * size, goOn);
            }
            if (now) {
                goOn.run();
            } else {
                serve();
            }
        }

        private boolean took(long bytes, Runnable goOn) {
            used = true;
            lock.lock();
            try {
                passing = false;
                boolean now = !closed && (isBeyond() || (waiting.isEmpty() && fits(bytes - held)));
                if (now) {
                    take(bytes - held);
                } else if (!closed) {
                    waiting.addLast(new Wait(this, bytes - held, goOn, ++waits));
                }
                return now;
            } finally {
                lock.unlock();
            }
        }

        private void take(long bytes) {
            held += bytes;
            taken += bytes;
        }

        private boolean fits(long bytes) {
            return bytes <= limit - taken;
        }

        private boolean isBeyond() {
            return beyond.filter(share -> share == this).isPresent();
        }

        private boolean gets(long bytes) {
            boolean fits = fits(bytes);
            if (!fits && beyond.isEmpty()) {
                beyond = Optional.of(this);
            }
            boolean gets = fits || isBeyond();
            if (gets) {
                take(bytes);
            }
            return gets;
        }

        /** The message is there, and is being passed on: nobody waits for its server any more. */
        void passing() {
            if (used) {
                lock.lock();
                try {
                    passing = true;
                } finally {
                    lock.unlock();
                }
            }
        }

        /** The message was passed on: gives back what it took. */
        void give() {
            if (used) {
                lock.lock();
                try {
                    used = false;
                    giveAll();
                } finally {
                    lock.unlock();
                }
                serve();
            }
        }

        /** Gives back what is held, and takes no more. */
        void close() {
            closed = true;
            if (used) {
                lock.lock();
                try {
                    waiting.removeIf(wait -> wait.share == this);
                    giveAll();
                } finally {
                    lock.unlock();
                }
                serve();
            }
        }

        private void giveAll() {
            taken -= held;
            held = 0;
            passing = false;
            if (isBeyond()) {
                beyond = Optional.empty();
            }
        }
    }
}
