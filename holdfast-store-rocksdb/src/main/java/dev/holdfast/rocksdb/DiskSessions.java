package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionKey;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import java.util.function.Supplier;
import org.rocksdb.RocksDBException;

/**
 * The indexes of the sessions in use, and the three ways to the disk.
 *
 * <pre>
 *   at once      a write on the caller's thread, if no fsync is wanted, nobody else writes and RocksDB does not stall
 *   writer       every other write; later writes of the same session follow it there until its stage has completed
 *   reader       everything that reads: claims, reads, and the first use of a session that is not in memory; later steps of the
 *                same session follow it there
 * </pre>
 *
 * A session's lock is held while its epoch is checked, the changes are made and they are handed to RocksDB or to the queue. It is
 * not held while an fsync, a stall or a read is waited for.
 */
final class DiskSessions {
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final Map<SessionKey, SessionIndex> inUse = new ConcurrentHashMap<>();
    private final boolean sync;
    private final InstantSource clock;
    private final ReopeningDatabase database;
    private final Writer writer;
    private final DiskReads disk;
    private final Completions completions;
    private final ReaderThread reader;
    private boolean closed;

    /**
     * @param sync whether a change is done when it is on the disk
     * @param clock the time by which sessions expire
     * @param memory bytes that RocksDB may take
     */
    DiskSessions(StoreFolder folder, boolean sync, InstantSource clock, long memory) {
        this.sync = sync;
        this.clock = clock;
        database = new ReopeningDatabase(folder, memory, sync, this::forgetAll);
        disk = new DiskReads(database);
        completions = new Completions(Runtime.getRuntime().availableProcessors());
        writer = new Writer(database, this::decided);
        reader = new ReaderThread(this, completions);
    }

    /** Starts the threads; call it once. */
    void start(Sweeper sweeper) {
        writer.start();
        sweeper.start(reader);
    }

    long millis() {
        return clock.millis();
    }

    ReopeningDatabase database() {
        return database;
    }

    DiskReads disk() {
        return disk;
    }

    /** Every index in memory; an entry is put and removed under the lock of its session. */
    Map<SessionKey, SessionIndex> inUse() {
        return inUse;
    }

    private void forgetAll() {
        inUse.values().forEach(SessionIndex::breakUp);
        inUse.clear();
    }

    /** What is done under the lock of a session, with its index if there is one. */
    interface Step<T> extends Function<Optional<SessionIndex>, CompletionStage<T>> {}

    /** Takes a step with a live session: at once if its index is in memory and no step waits for it, else on the reader's thread. */
    <T> CompletionStage<T> with(SessionKey key, Step<T> step) {
        Lock lock = database.lockOf(key);
        lock.lock();
        try {
            if (closed) {
                return CompletableFuture.failedFuture(database.closed());
            }
            Optional<SessionIndex> used = used(key);
            if (used.isPresent() && !reader.awaits(key)) {
                return step.apply(used.filter(this::isLive));
            }
        } finally {
            lock.unlock();
        }
        return onReader(key, step);
    }

    /** Takes a step with a session that most likely does not exist; the step also gets one that was deleted or has expired. */
    <T> CompletionStage<T> withNew(SessionKey key, Step<T> step) {
        Lock lock = database.lockOf(key);
        lock.lock();
        try {
            if (closed) {
                return CompletableFuture.failedFuture(database.closed());
            }
            Optional<SessionIndex> used = used(key);
            if (!reader.awaits(key) && (used.isPresent() || !disk.mayHave(key))) {
                return step.apply(used);
            }
        } catch (RocksDbStoreException e) {
            return CompletableFuture.failedFuture(e);
        } finally {
            lock.unlock();
        }
        return onReader(key, live -> step.apply(used(key)));
    }

    /** Takes a step at once without reading the disk; the step gets the index that is in memory, whatever its state. */
    <T> CompletionStage<T> unread(SessionKey key, Step<T> step) {
        Lock lock = database.lockOf(key);
        lock.lock();
        try {
            return closed ? CompletableFuture.failedFuture(database.closed()) : step.apply(used(key));
        } finally {
            lock.unlock();
        }
    }

    /** Takes a step with a live session on the reader's thread; the stage completes on another thread. */
    <T> CompletionStage<T> onReader(SessionKey key, Step<T> step) {
        return reader.take(key, step);
    }

    /** Reads of a live session on the reader's thread, without its lock; the stage completes on another thread. */
    <T> CompletionStage<T> read(SessionKey key, Supplier<T> read, T otherwise) {
        return reader.read(key, read, otherwise);
    }

    /** Takes a step on the reader's thread that reads no index, without a lock; the stage completes on another thread. */
    <T> CompletionStage<T> onReader(SessionKey key, Supplier<CompletionStage<T>> step) {
        return reader.take(key, step);
    }

    /** The index that is in memory, also of a session that was deleted or has expired; under the session's lock. */
    private Optional<SessionIndex> used(SessionKey key) {
        SessionIndex index = inUse.get(key);
        if (index == null || index.beingRead()) {
            return Optional.empty();
        }
        if (index.broken()) {
            inUse.remove(key, index);
            return Optional.empty();
        }
        index.use(System.nanoTime());
        return Optional.of(index);
    }

    /**
     * Does something under the lock of a session, with its index, live or not, which is read from the disk before if need be; on the
     * reader's thread. The lock is not held while it is read, but an empty index keeps its place. Where somebody has taken that
     * meanwhile, the session was changed, and what was read is dropped.
     */
    <T> T loaded(SessionKey key, Function<Optional<SessionIndex>, T> action) {
        Lock lock = database.lockOf(key);
        SessionIndex place = SessionIndex.beingRead(key);
        lock.lock();
        try {
            boolean undisturbed = false;
            while (!undisturbed && used(key).isEmpty()) {
                inUse.put(key, place);
                Optional<SessionIndex> read = Optional.empty();
                lock.unlock();
                try {
                    read = database.reading(() -> disk.index(key));
                } finally {
                    lock.lock();
                    undisturbed = inUse.remove(key, place);
                }
                if (undisturbed) {
                    read.ifPresent(this::add);
                }
            }
            return action.apply(used(key));
        } finally {
            lock.unlock();
        }
    }

    /** Keeps the index of a session; under the session's lock. */
    void add(SessionIndex index) {
        index.use(System.nanoTime());
        inUse.put(index.key(), index);
    }

    boolean isLive(SessionIndex index) {
        return !index.gone() && !index.expired(millis());
    }

    /** Writes the changes of a step; under the session's lock. */
    CompletionStage<Void> commit(SessionIndex index, Changes changes) {
        if (database.trouble().isPresent()) {
            return refuse(index);
        }
        try {
            boolean wait = sync || index.waits();
            if (!wait && writer.atOnce(changes)) {
                forgetIfGone(index);
                return DONE;
            }
        } catch (RocksDBException e) {
            database.failed(e);
            return refuse(index);
        }
        Writer.Item item = new Writer.Item(index, changes);
        index.depart();
        writer.add(item);
        return item.stage;
    }

    private CompletionStage<Void> refuse(SessionIndex index) {
        index.breakUp();
        inUse.remove(index.key(), index);
        return CompletableFuture.failedFuture(database.cannotWrite());
    }

    /** The writer has written an item, or has failed to. */
    private void decided(Writer.Item item) {
        completions.run(item.index.key(), () -> {
            Throwable failure = item.failure;
            if (failure == null) {
                item.stage.complete(null);
            } else {
                item.stage.completeExceptionally(failure);
            }
            arrived(item.index);
        });
    }

    /** A change or a step of this session has completed. */
    void arrived(SessionIndex index) {
        Lock lock = database.lockOf(index.key());
        lock.lock();
        try {
            index.arrive();
            forgetIfGone(index);
        } finally {
            lock.unlock();
        }
    }

    private void forgetIfGone(SessionIndex index) {
        if (index.broken() || (index.gone() && !index.waits())) {
            inUse.remove(index.key(), index);
        }
    }

    /** Waits until every change is written, then closes the database and its folder. */
    void close() {
        boolean[] first = new boolean[1];
        database.exclusively(() -> {
            first[0] = !closed;
            closed = true;
        });
        if (first[0]) {
            reader.close();
            writer.close();
            completions.close();
            database.close();
        }
    }
}
