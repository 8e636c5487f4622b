package dev.holdfast.rocksdb;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Keeps sessions in a folder on disk, in RocksDB. One process at a time may have a folder open. By default a completed append
 * survives the death of the process; built with {@link Durability#POWER_LOSS} it survives that of the machine too, and appends
 * wait for an fsync that they share.
 *
 * <p>Stages complete at once, on the caller's thread, or on threads of the store's own. Code that goes on there may take a
 * moment, but must not wait for another stage of the store. While the disk is full or fails, appends fail with a {@link
 * RocksDbStoreException} and what is kept can be read; the store writes again within a second or two after there is as much
 * room as its log takes.
 */
public final class RocksDbStore implements SessionStore {
    private final Promise promise;
    private final StoreFolder folder;
    private final DiskSessions sessions;
    private final SessionReaper reaper;

    RocksDbStore(RocksDbStoreBuilder builder) {
        promise = new Promise(builder.durability, false);
        boolean sync = builder.durability == Durability.POWER_LOSS;
        folder = StoreFolder.open(builder.folder, sync, builder.machine, builder.owner());
        try {
            sessions = new DiskSessions(folder, sync, builder.clock, builder.memoryBytes);
        } catch (RuntimeException e) {
            folder.close();
            throw e;
        }
        reaper = new SessionReaper(sessions);
        sessions.start();
        reaper.start(builder.sweepInterval);
    }

    /**
     * A builder with every default.
     *
     * @param folder where the store is; it is made if it is not there
     */
    public static RocksDbStoreBuilder builder(Path folder) {
        return new RocksDbStoreBuilder(folder);
    }

    @Override
    public Promise promise() {
        return promise;
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        return sessions.withNew(key, before -> {
            if (before.filter(sessions::isLive).isPresent()) {
                return CompletableFuture.failedFuture(new IllegalStateException("the session exists"));
            }
            Database.Batch changes = new Database.Batch();
            before.filter(old -> !old.gone()).ifPresent(old -> old.delete(changes));
            SessionIndex index = SessionIndex.create(key, epoch, record, folder.history(), changes);
            before.filter(SessionIndex::waits).ifPresent(index::follow);
            sessions.add(index);
            return sessions.commit(index, changes);
        });
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return sessions.onReader(key, found -> {
            if (found.isEmpty()) {
                return CompletableFuture.completedFuture(Optional.empty());
            }
            SessionIndex index = found.get();
            List<Epoch> before = index.header().epochs();
            Map<StreamId, Extent> extents = index.extents();
            Database.Batch changes = new Database.Batch();
            index.claim(nonce, folder.history(), changes);
            SessionHeader header = index.header();
            // when this is on disk, so is what was appended before; nobody else appends until the claim completes
            return sessions.commit(index, changes)
                    .thenCompose(done -> record(key))
                    .thenApply(record ->
                            record.map(kept -> new Claim(header.epoch(), before, kept, extents, header.certainFrom())));
        });
    }

    private CompletionStage<Optional<SessionRecord>> record(SessionKey key) {
        return sessions.read(key, () -> sessions.database().record(key), Optional.empty());
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return sessions.read(
                key, () -> sessions.database().record(key).flatMap(record -> look(key, record)), Optional.empty());
    }

    /** The index is never behind the record that was read before. */
    private Optional<Look> look(SessionKey key, SessionRecord record) {
        return sessions.loaded(
                key,
                found -> found.filter(sessions::isLive)
                        .map(index -> new Look(
                                index.header().epoch(),
                                record,
                                index.extents(),
                                index.header().certainFrom())));
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        return sessions.with(key, found -> {
            if (found.isEmpty()) {
                return CompletableFuture.failedFuture(new IllegalStateException("no such session"));
            }
            SessionIndex index = found.get();
            Epoch present = index.header().epoch();
            if (!present.equals(epoch)) {
                return CompletableFuture.failedFuture(new StaleEpochException(epoch, present));
            }
            Database.Batch changes = new Database.Batch();
            index.append(append, changes);
            return changes.isEmpty() ? DiskSessions.DONE : sessions.commit(index, changes);
        });
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return sessions.read(key, () -> sessions.database().events(key, stream, after, maxBytes), List.of());
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        return reaper.remove(key);
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return reaper.remove(key, epoch);
    }

    /** Why the store cannot write now, as its last write has shown; empty while it can. */
    @Override
    public Optional<String> trouble() {
        ReopeningDatabase database = sessions.database();
        return database.trouble().map(cause -> database.cannotWrite().getMessage());
    }

    /** How the store is now. May look at the disk: not for every request. */
    public Usage usage() {
        ReopeningDatabase database = sessions.database();
        database.look();
        return new Usage(
                folder.bytes(),
                sessions.inUse().size(),
                trouble(),
                database.unread().map(Throwable::getMessage),
                Optional.of(folder.history().damage()).filter(damage -> !damage.isEmpty()));
    }

    /** Waits until every change is written, then gives the folder back. Not to be called where one of its stages completes. */
    @Override
    public void close() {
        sessions.close();
    }

    /** For tests: the store's inside. */
    DiskSessions sessions() {
        return sessions;
    }

    /**
     * How a store is.
     *
     * @param bytes what its folder takes on disk
     * @param inUse how many sessions have an index in memory: those that were used within the last minute, until the next sweep
     * @param trouble why it cannot write now; empty while it can
     * @param unread why something could not be read in the last minute; empty if all could be
     * @param damage what was found damaged, so that something acknowledged may be lost; told until the store was closed in
     *     order and opened again
     */
    public record Usage(
            long bytes, int inUse, Optional<String> trouble, Optional<String> unread, Optional<String> damage) {}
}
