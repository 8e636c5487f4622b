package dev.holdfast.spring.properties;

import static dev.holdfast.spring.properties.Knob.turn;

import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.rocksdb.RocksDbStoreBuilder;
import dev.holdfast.spi.SessionStore.Durability;
import org.springframework.core.env.Environment;

/** What the properties of stores come to. */
public final class StoreSettings {
    private StoreSettings() {}

    /**
     * The builder of the store in a folder.
     *
     * @throws InvalidPropertyException if a property is out of its range
     */
    public static RocksDbStoreBuilder rocksDb(HoldfastProperties.RocksDb from, Environment environment) {
        RocksDbStoreBuilder store = RocksDbStore.builder(from.folder())
                .survives(from.sync() ? Durability.POWER_LOSS : Durability.PROCESS_DEATH);
        Knob.owner(environment, store::belongsTo);
        if (from.takeOver()) {
            store.takeOver();
        }
        turn("holdfast.store.rocksdb.memory", from.memory(), size -> store.memory(size.toBytes()));
        return turn("holdfast.store.rocksdb.sweep-interval", from.sweepInterval(), store::sweepInterval);
    }
}
