package dev.holdfast.gateway;

import dev.holdfast.spi.SessionStore.Durability;
import java.nio.file.Path;

/** Where sessions are kept, as it was asked for. */
public sealed interface StoreChoice {
    /** They end with the process. */
    record Memory() implements StoreChoice {}

    /**
     * They are on disk, in RocksDB.
     *
     * @param folder where; made if it is not there
     * @param survives what a message survives that was sent
     * @param takesOver whether it may be the folder of another command
     */
    record RocksDb(Path folder, Durability survives, boolean takesOver) implements StoreChoice {}
}
