package dev.holdfast.benchmarks.server;

import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import dev.holdfast.tck.MemoryStore;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiFunction;

/** A store in memory; what the engine has written for the session that was opened last is written again for any number of others. */
public final class Template implements SessionStore {
    private final SessionStore one = new MemoryStore();
    private final List<BiFunction<SessionStore, SessionKey, CompletionStage<Void>>> steps =
            new CopyOnWriteArrayList<>();
    private final Path folder;
    private volatile Optional<SessionKey> last = Optional.empty();
    /** Opened once, and never closed in order: what comes after it finds what a crash would have left. */
    private Optional<SessionStore> disk = Optional.empty();

    /**
     * A template.
     *
     * @param folder where the others are written
     */
    public Template(Path folder) {
        this.folder = folder;
    }

    /** The id of another session. */
    public static String id(int number) {
        return "session-" + number;
    }

    /** Writes some of the others. */
    public synchronized void write(int from, int count) {
        SessionStore store = disk.orElseGet(() -> RocksDbStore.builder(folder).open());
        disk = Optional.of(store);
        for (int number = from; number < from + count; number++) {
            SessionKey key = SessionKey.of(id(number), "");
            for (var step : steps) {
                step.apply(store, key).toCompletableFuture().join();
            }
        }
    }

    private CompletionStage<Void> take(
            SessionKey key, BiFunction<SessionStore, SessionKey, CompletionStage<Void>> step) {
        if (last.filter(key::equals).isPresent()) {
            steps.add(step);
        }
        return step.apply(one, key);
    }

    @Override
    public Promise promise() {
        return new Promise(Durability.PROCESS_DEATH, false);
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        last = Optional.of(key);
        steps.clear();
        return take(key, (store, other) -> store.create(other, epoch, record));
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        return take(key, (store, other) -> store.append(other, epoch, append));
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return one.claim(key, nonce);
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return one.look(key);
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return one.read(key, stream, after, maxBytes);
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        return one.delete(key);
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return one.delete(key, epoch);
    }

    @Override
    public void close() {
        one.close();
    }
}
