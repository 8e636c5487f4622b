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
 * Lets one thread at a time write. A caller writes by itself while nobody else does. A write that has to wait, for another one, for
 * an fsync or because RocksDB would stall, is done by a thread of its own, together with those that have come meanwhile: threads that
 * meet inside RocksDB wake each other for every write, which costs more than the write. The queue needs no bound of its own, for a
 * session has one append on its way.
 */
final class GroupCommit implements Runnable {
    private static final Logger logger = LoggerFactory.getLogger(GroupCommit.class);
    private static final int MOST_ITEMS = 4096;
    private static final int MOST_BYTES = 4 << 20;
    private static final long LOOK_MILLIS = 500;

    /** The changes of one step on their way to the disk. */
    static final class Item {
        final SessionIndex index;
        final Database.Batch changes;
        final CompletableFuture<Void> stage = new CompletableFuture<>();
        /** Why it was not written, if it was not. */
        @Nullable Throwable failure;

        Item(SessionIndex index, Database.Batch changes) {
            this.index = index;
            this.changes = changes;
        }
    }

    private final BlockingQueue<Item> queue = new LinkedBlockingQueue<>();
    private final ReopeningDatabase database;
    private final Consumer<Item> decided;
    /** Held while a batch is written; only the thread of this class waits for it. */
    private final ReentrantLock turn = new ReentrantLock();

    private final AtomicInteger undecided = new AtomicInteger();
    /** Whether the last batch had several writes: then the next ones had better form a batch, too. */
    private volatile boolean crowded;

    private volatile boolean closing;

    /**
     * @param decided learns of every item that was written, or was not, in order
     */
    GroupCommit(ReopeningDatabase database, Consumer<Item> decided) {
        this.database = database;
        this.decided = decided;
    }

    /** Queues a change; those of one session are written in the order in which they come. */
    void add(Item item) {
        undecided.incrementAndGet();
        queue.add(item);
    }

    /** Writes a change on the caller's thread, under its session's lock; false if it would have had to wait, and was not written. */
    boolean atOnce(Database.Batch changes) throws RocksDBException {
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
                // the close does not wait for the poll; what is queued is written all the same
            } catch (Throwable e) {
                // there is no other thread that could write
                logger.error("the session store's writer goes on after an unexpected error", e);
            }
        }
    }

    private void recover() {
        try {
            database.recover();
        } catch (RuntimeException e) {
            logger.debug("the session store cannot be opened again yet", e);
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
        try {
            Database.Batch all = new Database.Batch();
            for (Item item : group) {
                if (database.trouble().isPresent() || item.index.broken()) {
                    // what follows a write that has failed must not be written either
                    item.failure = database.cannotWrite();
                    item.index.breakUp();
                } else {
                    all.add(item.changes);
                }
            }
            if (!all.isEmpty()) {
                turn.lock();
                try {
                    database.current().write(all);
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
            logger.error("the outcome of a write to the session store could not be reported", e);
        }
    }

    /** Lets {@link #run} return once everything is written that is queued; its thread is to be interrupted. Nothing may be added then. */
    void end() {
        closing = true;
    }
}
