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
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Keeps sessions in a folder on disk, in RocksDB. One process at a time may have a folder open. By default a completed append
 * survives the death of the process; built with {@link Durability#POWER_LOSS} it survives that of the machine too, and appends
 * wait for an fsync that they share.
 *
 * <p>Stages complete at once, on the caller's thread, or on threads of the store's own; whoever goes on there may take a
 * moment, but must not wait for another stage of the store. Where the disk is full or fails, appends fail with a {@link
 * RocksDbStoreException}, what is kept can be read, and the store writes again within a second or two after there is as much
 * room as its log takes.
 */
public final class RocksDbStore implements SessionStore {
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final Promise promise;
    private final Library library;

    RocksDbStore(RocksDbStoreBuilder builder) {
        this.promise = new Promise(builder.durability, false);
        this.library = new Library(builder);
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
        return library.create(key, epoch, record);
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return library.claim(key, nonce);
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        return library.with(key, found -> {
            if (found.isEmpty()) {
                return CompletableFuture.failedFuture(new IllegalStateException("no such session"));
            }
            Shelf shelf = found.get();
            Epoch present = shelf.header().epoch();
            if (!present.equals(epoch)) {
                return CompletableFuture.failedFuture(new StaleEpochException(epoch, present));
            }
            Changes changes = new Changes();
            shelf.append(append, changes);
            return changes.isEmpty() ? DONE : library.commit(shelf, changes);
        });
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return library.read(key, stream, after, maxBytes);
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        return library.delete(key);
    }

    /** How the store is now. May look at the disk: not for every request. */
    public Usage usage() {
        return library.usage();
    }

    /** Waits for what is on its way, then gives the folder back. Not to be called where one of its stages completes. */
    @Override
    public void close() {
        library.close();
    }

    /** For tests: the store as a whole. */
    Library library() {
        return library;
    }

    /**
     * How a store is.
     *
     * @param bytes what its folder takes on disk
     * @param trouble why it cannot write now; empty while all is well
     * @param unread why something could not be read in the last minute; empty if all could be
     * @param damage what was found damaged, so that something acknowledged may be lost; told until the store was closed in
     *     order and opened again
     */
    public record Usage(long bytes, Optional<String> trouble, Optional<String> unread, Optional<String> damage) {}
}
