package dev.holdfast.gateway;

import dev.holdfast.MemoryStore;
import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.rocksdb.RocksDbStoreException;
import dev.holdfast.spi.SessionStore;

/**
 * The store of a running gateway.
 *
 * @param sessions where sessions are kept
 */
record OpenStore(SessionStore sessions) implements AutoCloseable {
    /**
     * Opens what was asked for.
     *
     * @throws GatewayException if that cannot be here
     */
    static OpenStore open(StoreChoice choice) {
        if (choice instanceof StoreChoice.RocksDb disk) {
            try {
                return new OpenStore(RocksDbStore.builder(disk.folder())
                        .survives(disk.survives())
                        .open());
            } catch (RocksDbStoreException e) {
                throw new GatewayException(e.getMessage() + "; choose another by --store", e);
            }
        }
        return new OpenStore(new MemoryStore());
    }

    @Override
    public void close() {
        sessions.close();
    }
}
