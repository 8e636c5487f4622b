package dev.holdfast.gateway;

import dev.holdfast.MemoryStore;
import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.rocksdb.RocksDbStoreException;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.function.Supplier;

/**
 * The store of a running gateway.
 *
 * @param sessions where sessions are kept
 * @param health how it is, or was a few seconds ago
 */
record OpenStore(SessionStore sessions, Supplier<StoreHealth> health) implements AutoCloseable {
    /** To look at the disk takes some system calls, and whoever comes may ask. */
    private static final Duration LOOK_EVERY = Duration.ofSeconds(3);

    /** A disk that has not answered by then hangs. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    /**
     * Opens what was asked for.
     *
     * @throws GatewayException if that cannot be here
     */
    static OpenStore open(StoreChoice choice) {
        if (choice instanceof StoreChoice.RocksDb disk) {
            try {
                return of(RocksDbStore.builder(disk.folder())
                        .survives(disk.survives())
                        .open());
            } catch (RocksDbStoreException e) {
                throw new GatewayException(e.getMessage() + "; choose another by --store", e);
            }
        }
        MemoryStore memory = new MemoryStore();
        StoreHealth health =
                new StoreHealth("memory", memory.promise().durability(), OptionalLong.empty(), StoreHealth.State.WELL);
        return new OpenStore(memory, () -> health);
    }

    private static OpenStore of(RocksDbStore store) {
        StoreHealth hangs =
                new StoreHealth("rocksdb", store.promise().durability(), OptionalLong.empty(), StoreHealth.State.HANGS);
        return new OpenStore(store, new Lately<>(() -> look(store), LOOK_EVERY, PATIENCE, hangs, System::nanoTime));
    }

    private static StoreHealth look(RocksDbStore store) {
        RocksDbStore.Usage usage = store.usage();
        return new StoreHealth("rocksdb", store.promise().durability(), OptionalLong.of(usage.bytes()), state(usage));
    }

    private static StoreHealth.State state(RocksDbStore.Usage usage) {
        if (usage.trouble().isPresent()) {
            return StoreHealth.State.CANNOT_WRITE;
        }
        return usage.unread().isPresent() ? StoreHealth.State.CANNOT_READ : StoreHealth.State.WELL;
    }

    @Override
    public void close() {
        sessions.close();
    }
}
