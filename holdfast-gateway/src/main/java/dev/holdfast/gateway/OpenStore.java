package dev.holdfast.gateway;

import dev.holdfast.NoStore;
import dev.holdfast.gateway.http.StoreHealth;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.redis.RedisStore;
import dev.holdfast.redis.RedisStoreException;
import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.rocksdb.RocksDbStoreBuilder;
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
public record OpenStore(SessionStore sessions, Supplier<StoreHealth> health) implements AutoCloseable {
    /** How long an answer is used again: looking at the disk takes system calls, and anybody may ask. */
    private static final Duration LOOK_EVERY = Duration.ofSeconds(3);

    /** How long the disk may take to answer before it counts as hanging. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    /**
     * Opens what was asked for.
     *
     * @param server whose sessions are kept there
     * @throws GatewayException if that cannot be here
     */
    public static OpenStore open(StoreChoice choice, ServerChoice server) {
        if (choice instanceof StoreChoice.RocksDb disk) {
            ServerChoice.Identity owner = server.identity();
            RocksDbStoreBuilder builder = RocksDbStore.builder(disk.folder())
                    .survives(disk.survives())
                    .belongsTo(owner.name(), owner.words());
            if (disk.takesOver()) {
                builder.takeOver();
            }
            try {
                return of(builder.open());
            } catch (RocksDbStoreException e) {
                throw new GatewayException(e.getMessage() + hint(e), e);
            }
        }
        if (choice instanceof StoreChoice.Redis shared) {
            shared.password().ifPresent(file -> file.give(shared.store()::credentials));
            shared.sentinelPassword().ifPresent(file -> file.give(shared.store()::sentinelCredentials));
            ServerChoice.Identity owner = server.identity();
            try {
                return of(shared.store().belongsTo(owner.name(), owner.words()).open());
            } catch (RedisStoreException e) {
                String hint = e.belongsToAnother()
                        ? "another prefix by --redis-prefix, or take it over by --take-over-store"
                        : "another by --store";
                throw new GatewayException(e.getMessage() + "; choose " + hint, e);
            }
        }
        NoStore none = new NoStore();
        StoreHealth health =
                new StoreHealth("memory", none.promise().durability(), OptionalLong.empty(), StoreHealth.State.WELL);
        return new OpenStore(none, () -> health);
    }

    private static String hint(RocksDbStoreException refused) {
        if (refused.concernsMachine()) {
            return "";
        }
        String takeOver = refused.belongsToAnother() ? ", or take it over by --take-over-store" : "";
        return "; choose another by --store" + takeOver;
    }

    private static OpenStore of(RocksDbStore store) {
        StoreHealth hangs =
                new StoreHealth("rocksdb", store.promise().durability(), OptionalLong.empty(), StoreHealth.State.HANGS);
        return new OpenStore(store, new Lately<>(() -> look(store), LOOK_EVERY, PATIENCE, hangs, System::nanoTime));
    }

    private static OpenStore of(RedisStore store) {
        return new OpenStore(
                store,
                () -> new StoreHealth("redis", store.promise().durability(), OptionalLong.empty(), state(store)));
    }

    private static StoreHealth.State state(RedisStore store) {
        if (store.refusal().isPresent()) {
            return StoreHealth.State.CANNOT_WRITE;
        }
        return store.trouble().isPresent() ? StoreHealth.State.HANGS : StoreHealth.State.WELL;
    }

    private static StoreHealth look(RocksDbStore store) {
        RocksDbStore.Usage usage = store.usage();
        return new StoreHealth("rocksdb", store.promise().durability(), OptionalLong.of(usage.bytes()), state(usage));
    }

    private static StoreHealth.State state(RocksDbStore.Usage usage) {
        if (usage.trouble().isPresent()) {
            return StoreHealth.State.CANNOT_WRITE;
        }
        if (usage.unread().isPresent()) {
            return StoreHealth.State.CANNOT_READ;
        }
        return usage.damage().isPresent() ? StoreHealth.State.DAMAGED : StoreHealth.State.WELL;
    }

    @Override
    public void close() {
        sessions.close();
    }
}
