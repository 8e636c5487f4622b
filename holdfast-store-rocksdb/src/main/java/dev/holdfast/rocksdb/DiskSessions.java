package dev.holdfast.rocksdb;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore.Claim;
import dev.holdfast.spi.SessionStore.Durability;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.UnreadableSessionException;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.rocksdb.RocksDBException;

/**
 * The shelves in use, and the three ways to the disk.
 *
 * <pre>
 *   at once      a write on the caller's thread, where no fsync is wanted, nobody else writes and RocksDB does not stall
 *   writer       every other write; a session whose last write went there goes on there until that has been told
 *   reader       whatever has to read: claims, reads, and the first use of a session that nobody has used of late
 * </pre>
 *
 * A session's lock covers the look at its epoch, the changes that follow from it and their way into RocksDB or the queue, so
 * that nothing gets between; it is not held while an fsync or a stall is waited for.
 */
final class Library {
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);
    private static final long READER_PATIENCE_SECONDS = 3600;

    private final Map<SessionKey, Shelf> shelves = new ConcurrentHashMap<>();
    private final boolean sync;
    private final InstantSource clock;
    private final Folder folder;
    private final Vault vault;
    private final Writer writer;
    private final DiskReads disk;
    private final Completions completions;
    private final ScheduledThreadPoolExecutor reader;
    private boolean closed;

    Library(RocksDbStoreBuilder builder) {
        sync = builder.durability == Durability.POWER_LOSS;
        clock = builder.clock;
        folder = Folder.open(builder.folder, sync, builder.machine, builder::enter);
        try {
            vault = new Vault(folder, builder.memoryBytes, sync, this::forgetAll);
        } catch (RuntimeException e) {
            folder.close();
            throw e;
        }
        disk = new DiskReads(vault);
        completions = new Completions(Runtime.getRuntime().availableProcessors());
        writer = new Writer(vault, this::decided);
        reader = new ScheduledThreadPoolExecutor(1, StoreThreads.named("holdfast-store-reader"));
        writer.start();
        new Sweeper(this, vault, reader).start(builder.sweepInterval);
    }

    long millis() {
        return clock.millis();
    }

    DiskReads disk() {
        return disk;
    }

    Map<SessionKey, Shelf> shelves() {
        return shelves;
    }

    /** The disk may not have what is known in memory. */
    private void forgetAll() {
        shelves.values().forEach(Shelf::breakUp);
        shelves.clear();
    }

    /** What is done with a session, or without one, under its lock. */
    interface Step<T> extends Function<Optional<Shelf>, CompletionStage<T>> {}

    /** Takes a step with a session: at once if it is in use, else on the reader's thread. */
    <T> CompletionStage<T> with(SessionKey key, Step<T> step) {
        Lock lock = vault.lockOf(key);
        lock.lock();
        try {
            if (closed) {
                return CompletableFuture.failedFuture(vault.closed());
            }
            Optional<Shelf> used = used(key);
            if (used.isPresent()) {
                return step.apply(used.filter(this::there));
            }
        } finally {
            lock.unlock();
        }
        return onReader(key, step);
    }

    /** Takes a step with a session on the reader's thread; the stage completes on another. */
    private <T> CompletionStage<T> onReader(SessionKey key, Step<T> step) {
        CompletableFuture<T> stage = new CompletableFuture<>();
        try {
            reader.execute(() -> read(key, step, stage));
        } catch (RejectedExecutionException e) {
            stage.completeExceptionally(vault.closed());
        }
        return stage;
    }

    private <T> void read(SessionKey key, Step<T> step, CompletableFuture<T> stage) {
        Lock lock = vault.lockOf(key);
        lock.lock();
        try {
            Optional<Shelf> shelf = find(key);
            // until the stage has completed nothing of this session completes before it
            shelf.ifPresent(Shelf::depart);
            CompletionStage<T> taken;
            try {
                taken = step.apply(shelf.filter(this::there));
            } catch (RuntimeException e) {
                taken = CompletableFuture.failedFuture(e);
            }
            taken.whenComplete((value, failure) -> completions.run(key, () -> {
                if (failure == null) {
                    stage.complete(value);
                } else {
                    stage.completeExceptionally(failure);
                }
                shelf.ifPresent(this::arrived);
            }));
        } catch (RuntimeException e) {
            completions.run(key, () -> stage.completeExceptionally(e));
        } finally {
            lock.unlock();
        }
    }

    /** The shelf of a session in use, though it may be gone or expired; under its lock. */
    private Optional<Shelf> used(SessionKey key) {
        Shelf shelf = shelves.get(key);
        if (shelf == null) {
            return Optional.empty();
        }
        if (shelf.broken()) {
            shelves.remove(key, shelf);
            return Optional.empty();
        }
        shelf.use(System.nanoTime());
        return Optional.of(shelf);
    }

    /** The shelf of a session, read from the disk if need be; under its lock, on the reader's thread. */
    Optional<Shelf> find(SessionKey key) {
        Optional<Shelf> used = used(key);
        return used.isPresent() ? used : load(key);
    }

    private Optional<Shelf> load(SessionKey key) {
        Optional<Shelf> shelf = disk.shelf(key);
        shelf.ifPresent(loaded -> {
            loaded.use(System.nanoTime());
            shelves.put(key, loaded);
        });
        return shelf;
    }

    private boolean there(Shelf shelf) {
        return !shelf.gone() && !shelf.expired(millis());
    }

    CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        Lock lock = vault.lockOf(key);
        lock.lock();
        try {
            if (closed) {
                return CompletableFuture.failedFuture(vault.closed());
            }
            Optional<Shelf> used = used(key);
            if (used.isPresent() || !disk.has(key)) {
                return create(key, epoch, record, used);
            }
        } catch (RocksDbStoreException | UnreadableSessionException e) {
            return CompletableFuture.failedFuture(e);
        } finally {
            lock.unlock();
        }
        return onReader(key, there -> create(key, epoch, record, used(key)));
    }

    private CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record, Optional<Shelf> before) {
        if (before.filter(this::there).isPresent()) {
            return CompletableFuture.failedFuture(new IllegalStateException("the session exists"));
        }
        Changes changes = new Changes();
        before.filter(old -> !old.gone()).ifPresent(old -> old.delete(changes));
        Shelf shelf = Shelf.create(key, epoch, record, folder.openings(), changes);
        before.filter(Shelf::waits).ifPresent(shelf::follow);
        shelf.use(System.nanoTime());
        shelves.put(key, shelf);
        return commit(shelf, changes);
    }

    CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return onReader(key, found -> {
            if (found.isEmpty()) {
                return CompletableFuture.completedFuture(Optional.empty());
            }
            Shelf shelf = found.get();
            List<Epoch> before = shelf.header().epochs();
            Map<StreamId, Extent> extents = shelf.extents();
            Changes changes = new Changes();
            shelf.claim(nonce, folder.openings(), changes);
            Header header = shelf.header();
            // what was appended before is on disk when this is, and nobody else appends until the claim is told
            return commit(shelf, changes)
                    .thenCompose(done -> onReader(
                            key,
                            still -> CompletableFuture.completedFuture(still.map(there -> new Claim(
                                    header.epoch(),
                                    before,
                                    disk.record(key, header),
                                    extents,
                                    header.certainFrom())))));
        });
    }

    CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return onReader(
                key,
                found -> CompletableFuture.completedFuture(
                        found.isPresent() ? disk.events(key, stream, after, maxBytes) : List.of()));
    }

    /** Deletes a session; what cannot be read of it goes unread. */
    CompletionStage<Void> delete(SessionKey key) {
        CompletionStage<Void> deleted =
                with(key, found -> found.map(this::delete).orElse(DONE));
        return deleted.handle((done, failure) -> isUnreadable(failure) ? deleteUnread(key) : deleted)
                .thenCompose(Function.identity());
    }

    private static boolean isUnreadable(@Nullable Throwable failure) {
        return failure instanceof UnreadableSessionException
                || (failure instanceof CompletionException && failure.getCause() instanceof UnreadableSessionException);
    }

    private CompletionStage<Void> deleteUnread(SessionKey key) {
        Lock lock = vault.lockOf(key);
        lock.lock();
        try {
            return closed ? CompletableFuture.failedFuture(vault.closed()) : remove(key, List.of());
        } finally {
            lock.unlock();
        }
    }

    /** Removes what there is of a session without reading it, and entries of the index; under the session's lock. */
    CompletionStage<Void> remove(SessionKey key, List<byte[]> expiries) {
        Changes changes = new Changes();
        Optional<Shelf> used = used(key);
        try {
            disk.header(key).ifPresent(header -> changes.delete(Keys.expiry(header.expiresAt(), key)));
        } catch (UnreadableSessionException e) {
            // the sweeper finds its place in the index when its time has come
        }
        expiries.forEach(changes::delete);
        changes.deleteRange(Keys.header(key), Keys.end(key));
        Shelf remains = Shelf.remains(key);
        used.filter(Shelf::waits).ifPresent(remains::follow);
        shelves.put(key, remains);
        return commit(remains, changes);
    }

    /** Removes an entry of the index that no session stands behind; under the lock of the one it names. */
    CompletionStage<Void> removeExpiry(byte[] expiry) {
        Changes changes = new Changes();
        changes.delete(expiry);
        return commit(Shelf.remains(Keys.session(expiry)), changes);
    }

    CompletionStage<Void> delete(Shelf shelf) {
        Changes changes = new Changes();
        shelf.delete(changes);
        return commit(shelf, changes);
    }

    /** Writes what a step has changed; under the session's lock. */
    CompletionStage<Void> commit(Shelf shelf, Changes changes) {
        if (vault.trouble().isPresent()) {
            return refuse(shelf);
        }
        try {
            boolean wait = sync || shelf.waits();
            if (!wait && writer.atOnce(changes)) {
                forgetIfGone(shelf);
                return DONE;
            }
        } catch (RocksDBException e) {
            vault.failed(e);
            return refuse(shelf);
        }
        Writer.Item item = new Writer.Item(shelf, changes);
        shelf.depart();
        writer.add(item);
        return item.stage;
    }

    private CompletionStage<Void> refuse(Shelf shelf) {
        shelf.breakUp();
        shelves.remove(shelf.key(), shelf);
        return CompletableFuture.failedFuture(vault.cannotWrite());
    }

    /** The writer has written something, or has failed to. */
    private void decided(Writer.Item item) {
        completions.run(item.shelf.key(), () -> {
            Throwable failure = item.failure;
            if (failure == null) {
                item.stage.complete(null);
            } else {
                item.stage.completeExceptionally(failure);
            }
            arrived(item.shelf);
        });
    }

    private void arrived(Shelf shelf) {
        Lock lock = vault.lockOf(shelf.key());
        lock.lock();
        try {
            shelf.arrive();
            forgetIfGone(shelf);
        } finally {
            lock.unlock();
        }
    }

    private void forgetIfGone(Shelf shelf) {
        if (shelf.broken() || (shelf.gone() && !shelf.waits())) {
            shelves.remove(shelf.key(), shelf);
        }
    }

    RocksDbStore.Usage usage() {
        return new RocksDbStore.Usage(
                folder.bytes(),
                vault.trouble().map(cause -> vault.cannotWrite().getMessage()),
                vault.unread().map(Throwable::getMessage),
                Optional.of(folder.openings().damage()).filter(damage -> !damage.isEmpty()));
    }

    void close() {
        boolean[] first = new boolean[1];
        vault.exclusively(() -> {
            first[0] = !closed;
            closed = true;
        });
        if (first[0]) {
            reader.shutdown();
            StoreThreads.ended(reader, READER_PATIENCE_SECONDS, TimeUnit.SECONDS);
            writer.close();
            completions.close();
            vault.close();
        }
    }

    Vault vault() {
        return vault;
    }
}
