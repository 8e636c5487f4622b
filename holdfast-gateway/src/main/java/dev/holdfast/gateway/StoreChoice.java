package dev.holdfast.gateway;

import dev.holdfast.redis.RedisStoreBuilder;
import dev.holdfast.spi.SessionStore.Durability;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

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

    /**
     * They are in Redis, which other nodes use too.
     *
     * @param store where, not open yet
     * @param node this node among those that share it
     * @param password its password, where it is not in the address
     * @param sentinelPassword that of its sentinels, where they have one
     */
    record Redis(
            RedisStoreBuilder store,
            Node node,
            Optional<PasswordFile> password,
            Optional<PasswordFile> sentinelPassword)
            implements StoreChoice {
        Redis(RedisStoreBuilder store, Node node) {
            this(store, node, Optional.empty(), Optional.empty());
        }
    }

    /**
     * A node among those that share a store.
     *
     * @param name for people who read logs
     * @param lease how long the others wait for it when it is silent
     */
    record Node(String name, Duration lease) {
        /** A node that has its store for itself. */
        static final Node ALONE = new Node("node", Duration.ofSeconds(3));
    }

    /** This node among those that share the store. */
    default Node node() {
        return Node.ALONE;
    }
}
