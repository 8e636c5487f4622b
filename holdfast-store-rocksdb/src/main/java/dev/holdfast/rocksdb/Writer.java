package dev.holdfast.rocksdb;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rocksdb.RocksDBException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets one thread at a time write. A caller writes itself while nobody else does; whatever must wait, for another or for an fsync
 * or since RocksDB would stall, is written by a thread of its own, and what has gathered while one batch was written is the next.
 * Threads that met inside of RocksDB would wake each other for every write, which costs more than the write. What waits here
 * is bounded by the callers, for a session has one append on its way.
 */
final class Writer implements Runnable {
    private static final Logger logger = LoggerFactory.getLogger(Writer.class);
    private static final int MOST_ITEMS = 4096;
    private static final int MOST_BYTES = 4 << 20;
    private static final long LOOK_MILLIS = 500;

    /** The changes of one step on their way to the disk. */
    static final class Item {
        final SessionIndex index;
        final Changes changes;
        final CompletableFuture<Void> stage = new CompletableFuture<>();
        /** Why it was not written, if it was not. */
        @Nullable Throwable failure;

        Item(SessionIndex index, Changes changes) {
            this.index = index;
            this.changes = changes;
        }
    }

    private final BlockingQueue<Item> queue = new LinkedBlockingQueue<>();
    private final ReopeningDatabase database;
    private final Consumer<Item> decided;
    private final Thread thread;
    /** Held while a batch is written; only this class's own thread waits for it. */
    private final ReentrantLock turn = new ReentrantLock();

    private final AtomicInteger undecided = new AtomicInteger();
    /** Whether the last batch was of several, so that the next had better be one, too. */
    private volatile boolean crowded;

    private volatile boolean closing;

    /**
     * @param decided learns of every item that was written, or was not, in order
     */
    Writer(ReopeningDatabase database, Consumer<Item> decided) {
        this.database = database;
        this.decided = decided;
        this.thread = StoreThreads.named("holdfast-store-writer").newThread(this);
    }

    void start() {
        thread.start();
    }

    /** Takes a change; those of one session are written in the order in which they come. */
    void add(Item item) {
        undecided.incrementAndGet();
        queue.add(item);
    }

    /** Writes a change on the caller's thread, under its session's lock; false if it had to wait there, and was not written. */
    boolean atOnce(Changes changes) throws RocksDBException {
        if (crowded || undecided.get() > 0 || !turn.tryLock()) {
            return false;
        }
        try {
            return database.current().tryWrite(changes);
        } finally {
            turn.unlock();
        }
    }

    @Override
    public void run() {
        while (!closing || !queue.isEmpty()) {
            try {
                Item first = queue.poll(LOOK_MILLIS, TimeUnit.MILLISECONDS);
                if (database.trouble().isPresent() && !closing) {
                    recover();
                }
                if (first != null) {
                    write(gather(first));
                }
            } catch (InterruptedException e) {
                // the close does not want to wait for the poll; what waits here is written before the end all the same
            } catch (Throwable e) {
                // there is no other thread that could write
                logger.error("the session store's writer stumbled", e);
            }
        }
    }

    private void recover() {
        try {
            database.recover();
        } catch (RuntimeException e) {
            logger.debug("the session store cannot be opened anew yet", e);
        }
    }

    private List<Item> gather(Item first) {
        List<Item> group = new ArrayList<>();
        int bytes = 0;
        for (Item item = first; item != null; item = queue.poll()) {
            group.add(item);
            bytes += item.changes.bytes();
            if (group.size() >= MOST_ITEMS || bytes >= MOST_BYTES) {
                break;
            }
        }
        return group;
    }

    private void write(List<Item> group) {
        List<Changes> all = new ArrayList<>(group.size());
        int bytes = 0;
        for (Item item : group) {
            if (database.trouble().isPresent() || item.index.broken()) {
                // what was meant to follow something that is not there must not be there either
                item.failure = database.cannotWrite();
                item.index.breakUp();
            } else {
                all.add(item.changes);
                bytes += item.changes.bytes();
            }
        }
        try {
            if (!all.isEmpty()) {
                turn.lock();
                try {
                    database.current().write(all, bytes);
                } finally {
                    turn.unlock();
                }
            }
        } catch (Throwable e) {
            database.failed(e);
            for (Item item : group) {
                item.failure = database.cannotWrite();
                item.index.breakUp();
            }
        }
        crowded = group.size() > 1;
        undecided.addAndGet(-group.size());
        group.forEach(this::tell);
    }

    private void tell(Item item) {
        try {
            decided.accept(item);
        } catch (Throwable e) {
            logger.error("nobody was told what became of a write", e);
        }
    }

    /** Writes what waits, then ends. Nothing may be added after. */
    void close() {
        closing = true;
        thread.interrupt();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                // native memory must not be released under a thread that writes
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
