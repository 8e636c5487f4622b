package dev.holdfast;

import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The memory that all messages of a node may take together: its histories, its requests, what waits for backends, and what backends
 * send. Each part of the node counts its own bytes, and registers that count with {@link #count}; so a small message costs nothing here.
 *
 * <p>A large message of a backend takes room from its first bytes until it was passed on. While there is no room, nobody reads the rest of
 * it, and the connection or pipe holds its server back. Messages that wait are served in their order. If every message that holds room
 * waits itself, or its server pauses, the first one that waits goes on beyond the room for messages, one at a time; a part of the budget is
 * reserved for it. A message is given up after some time if it keeps another one waiting, or if there is no room for it at all: the budget
 * is never exceeded. Holds no thread. Safe for use by any thread.
 */
public final class ByteBudget {
    /** A message of at most so many bytes takes no room. */
    public static final int FREE = 64 << 10;

    private static final int EIGHTHS_OF_HEAP = 5;
    private static final Duration TURN = Duration.ofSeconds(30);
    /** So many bytes may always wait for one backend, however many wait for others. */
    private static final long SHORT_QUEUE = 64 << 10;

    /** How often it is looked whether there is room for messages that wait. */
    private static final long LOOK_MILLIS = 20;

    private static final String UNFINISHED = "did not finish a large message while others waited for room";
    private static final String NO_ROOM =
            "sent a large message for which there was no room: give the JVM a larger heap";

    private final long limit;
    private final long reserve;
    private final Duration turn;
    /** Replaced as a whole, and never modified: each request reads it without a lock. */
    private volatile Part[] parts = {};

    private final ReentrantLock lock = new ReentrantLock();
    private final Deque<Wait> waiting = new ArrayDeque<>();
    /** Whose message goes on beyond the room for messages. */
    private Optional<Reader> beyond = Optional.empty();

    private @Nullable Wait head;
    private long headSince;
    private boolean looking;
    private final AtomicLong taken = new AtomicLong();

    private final AtomicLong inputs = new AtomicLong();

    /** What one owner takes, for as long as there is that owner. */
    private record Part(WeakReference<?> owner, LongSupplier amount) {}

    /** One wait of one message. */
    private static final class Wait {
        private final Reader reader;
        private final long bytes;
        private final Runnable goOn;

        private Wait(Reader reader, long bytes, Runnable goOn) {
            this.reader = reader;
            this.bytes = bytes;
            this.goOn = goOn;
        }
    }

    /**
     * A budget of so many bytes.
     *
     * @param reserve how many of them large messages of backends may take, and as many more the one that goes on beyond that
     * @param turn how long a message may keep the first of the waiting ones from going on
     */
    public ByteBudget(long limit, long reserve, Duration turn) {
        this.limit = limit;
        this.reserve = reserve;
        this.turn = turn;
        count(this, inputs::get);
    }

    /**
     * A budget of five eighths of the JVM's maximum heap: two for histories, one for large messages, one for the one beyond, and one for
     * what histories leave to requests. The rest is for the program, and for what a collector needs.
     */
    public static ByteBudget ofHeap() {
        long eighth = Runtime.getRuntime().maxMemory() / 8;
        return new ByteBudget(EIGHTHS_OF_HEAP * eighth, eighth, TURN);
    }

    /** A budget that is never exceeded. */
    public static ByteBudget withoutLimit() {
        return new ByteBudget(Long.MAX_VALUE, Long.MAX_VALUE / 2, TURN);
    }

    /**
     * Adds a part of the node, until nobody holds on to its owner any more: engines come and go, and their budget stays.
     *
     * @param amount how many bytes the owner takes now, and does not hold on to it; counts for at most two fifths of the budget, since
     *     a larger part was configured so
     */
    public void count(Object owner, LongSupplier amount) {
        lock.lock();
        try {
            parts = Stream.concat(
                            Arrays.stream(parts).filter(part -> part.owner.get() != null),
                            Stream.of(new Part(new WeakReference<>(owner), amount)))
                    .toArray(Part[]::new);
        } finally {
            lock.unlock();
        }
    }

    /** How many bytes are taken of it. */
    public long taken() {
        long all = taken.get();
        for (Part part : parts) {
            all += part.owner.get() == null ? 0 : Math.min(part.amount.getAsLong(), limit / EIGHTHS_OF_HEAP * 2);
        }
        return all;
    }

    /** Whether there is room for more. */
    public boolean fits(long bytes) {
        return bytes <= limit - taken();
    }

    /** Whether there is room for something large, so that a large message of a backend still finds some. */
    public boolean fitsLarge(long bytes) {
        return bytes <= limit - reserve - taken();
    }

    /**
     * Takes room for a message that waits until its backend reads it; false if there is none. Together such messages may take as much as
     * large messages of backends; a message that is the only one to wait for its backend may take as much again. A backend that does not
     * read thus rarely delays others.
     *
     * @param before how much waits for the same backend already, in bytes, without what is being written
     */
    public boolean takeInput(long bytes, long before) {
        long now = inputs.addAndGet(bytes);
        boolean fits = before + bytes <= SHORT_QUEUE || now <= reserve || (before == 0 && now - reserve <= reserve);
        if (!fits) {
            giveInput(bytes);
        }
        return fits;
    }

    /** Gives back what a message took that waited for its backend. */
    public void giveInput(long bytes) {
        inputs.addAndGet(-bytes);
    }

    /** How many bytes large messages of backends may take, not counting the one that goes on beyond that. */
    public long reserve() {
        return reserve;
    }

    /** How many bytes large messages of backends take. */
    public long messages() {
        return taken.get();
    }

    /** How many large messages wait. */
    public int waiting() {
        lock.lock();
        try {
            return waiting.size();
        } finally {
            lock.unlock();
        }
    }

    /**
     * A reader of one message at a time, which holds nothing yet.
     *
     * @param copies how often a message is there while it is read and passed on
     * @param executor runs what goes on after a wait
     * @param late hears, on that executor, why a message was given up, as a phrase about its server
     */
    public Reader reader(int copies, Executor executor, Consumer<String> late) {
        return new Reader(copies, executor, late);
    }

    /** Lets messages go on for which there is room now. */
    private void serve() {
        List<Wait> served = new ArrayList<>(0);
        lock.lock();
        try {
            Wait first = waiting.peekFirst();
            while (first != null && first.reader.gets(first.bytes)) {
                served.add(waiting.removeFirst());
                first = waiting.peekFirst();
            }
            if (first != head) {
                head = first;
                headSince = System.nanoTime();
            }
            if (first != null && !looking) {
                looking = true;
                CompletableFuture.delayedExecutor(LOOK_MILLIS, TimeUnit.MILLISECONDS, Runnable::run)
                        .execute(this::look);
            }
        } finally {
            lock.unlock();
        }
        served.forEach(wait -> wait.reader.goOn(wait.goOn));
    }

    /** Called again and again while a message waits, since histories and requests do not tell when they take less. */
    private void look() {
        Optional<Runnable> late = Optional.empty();
        lock.lock();
        try {
            looking = false;
            if (head != null && System.nanoTime() - headSince >= turn.toNanos()) {
                late = beyond.filter(reader -> !reader.passing).map(Reader::giveUp);
            }
        } finally {
            lock.unlock();
        }
        late.ifPresent(Runnable::run);
        serve();
    }

    /** What one reader holds for one message at a time. */
    public final class Reader {
        private final int copies;
        private final Executor executor;
        private final Consumer<String> late;
        /** Whether it may hold something, or wait: most messages are small, and do without the lock. */
        private volatile boolean used;

        private volatile boolean closed;
        private boolean passing;
        private long held;

        private Reader(int copies, Executor executor, Consumer<String> late) {
            this.copies = copies;
            this.executor = executor;
            this.late = late;
        }

        /**
         * Takes room for a message of which so many bytes are there, and goes on reading: at once, or by the executor when there is room.
         * Never goes on once it is closed. For one thread at a time.
         */
        public void hold(int size, Runnable goOn) {
            boolean now = !closed;
            if (size <= FREE) {
                give();
            } else {
                now = took((long) copies * size, goOn);
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
                long more = bytes - held;
                if (closed || (waiting.isEmpty() && fits(more))) {
                    take(closed ? 0 : more);
                    return !closed;
                }
                if (!isBeyond()) {
                    waiting.addLast(new Wait(this, more, goOn));
                } else if (ByteBudget.this.fits(more)) {
                    take(more);
                    return true;
                } else {
                    waiting.addFirst(new Wait(this, more, goOn));
                }
                return false;
            } finally {
                lock.unlock();
            }
        }

        private void take(long bytes) {
            held += bytes;
            taken.addAndGet(bytes);
        }

        private boolean fits(long bytes) {
            return bytes <= reserve - taken.get() && fitsLarge(bytes);
        }

        private boolean isBeyond() {
            return beyond.filter(reader -> reader == this).isPresent();
        }

        private boolean gets(long bytes) {
            boolean fits = fits(bytes);
            if (!fits && beyond.isEmpty()) {
                beyond = Optional.of(this);
            }
            boolean gets = fits || (isBeyond() && ByteBudget.this.fits(bytes));
            if (gets) {
                take(bytes);
            }
            return gets;
        }

        private void goOn(Runnable goOn) {
            boolean goesOn = executes(() -> {
                if (!closed) {
                    goOn.run();
                }
            });
            if (!goesOn) {
                close();
            }
        }

        /** False where its backend has ended, and the executor with it: that must not stop whoever serves it. */
        private boolean executes(Runnable work) {
            try {
                executor.execute(work);
                return true;
            } catch (RejectedExecutionException e) {
                return false;
            }
        }

        /** Returns what tells its owner, to be run without the lock. */
        private Runnable giveUp() {
            closed = true;
            giveAll();
            boolean waits = waiting.removeIf(wait -> wait.reader == this);
            return () -> {
                boolean unused = executes(() -> late.accept(waits ? NO_ROOM : UNFINISHED));
            };
        }

        /** The message is there, and is being passed on: nobody waits for its server any more. Returns false if it was given up. */
        public boolean passing() {
            if (used) {
                lock.lock();
                try {
                    passing = true;
                } finally {
                    lock.unlock();
                }
            }
            return !closed;
        }

        /** The message was passed on: gives back what it took. */
        public void give() {
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
        public void close() {
            closed = true;
            if (used) {
                lock.lock();
                try {
                    waiting.removeIf(wait -> wait.reader == this);
                    giveAll();
                } finally {
                    lock.unlock();
                }
                serve();
            }
        }

        private void giveAll() {
            taken.addAndGet(-held);
            held = 0;
            passing = false;
            if (isBeyond()) {
                beyond = Optional.empty();
            }
        }
    }
}
