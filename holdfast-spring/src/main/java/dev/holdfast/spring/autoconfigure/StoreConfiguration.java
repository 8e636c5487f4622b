package dev.holdfast.spring.autoconfigure;

import dev.holdfast.NoStore;
import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.rocksdb.RocksDbStoreBuilder;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Durability;
import dev.holdfast.spring.properties.HoldfastProperties;
import dev.holdfast.spring.properties.InvalidPropertyException;
import dev.holdfast.spring.properties.Setting;
import java.util.List;
import java.util.function.BiConsumer;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ResourceLoader;
import org.springframework.util.ClassUtils;

/**
 * The store that {@code holdfast.store.type} names; a {@link SessionStore} of the application's own wins. The property is read when the
 * application starts, also where its beans were chosen ahead of time.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnMissingBean(SessionStore.class)
class StoreConfiguration {
    static final String ROCKSDB = "dev.holdfast.rocksdb.RocksDbStore";
    static final String REDIS = "dev.holdfast.redis.RedisStore";

    @Bean(destroyMethod = "close")
    SessionStore holdfastSessionStore(
            HoldfastProperties properties, Environment environment, BeanFactory beans, ResourceLoader resources) {
        HoldfastProperties.Store store = properties.store();
        return switch (store.type()) {
            case MEMORY -> new NoStore();
            case ROCKSDB -> {
                need(ROCKSDB, "rocksdb", resources);
                yield RocksDb.builder(store.rocksdb(), environment).open();
            }
            case REDIS -> {
                need(REDIS, "redis", resources);
                yield RedisSettings.redis(store.redis(), environment, beans).open();
            }
        };
    }

    private static void need(String type, String name, ResourceLoader resources) {
        if (!ClassUtils.isPresent(type, resources.getClassLoader())) {
            String other = name.equals("redis") ? "rocksdb" : "redis";
            throw new InvalidPropertyException(
                    "holdfast.store.type",
                    name,
                    "needs dev.holdfast:holdfast-store-" + name + " on the class path",
                    "Add dev.holdfast:holdfast-store-" + name
                            + " to your dependencies, or set holdfast.store.type to memory or " + other + ".");
        }
    }

    /** Tells a store whose sessions it keeps, where the application has a name. */
    static void owner(Environment environment, BiConsumer<String, List<String>> store) {
        String name = environment.getProperty("spring.application.name", "");
        if (!name.isBlank()) {
            store.accept(name, List.of("spring.application.name", name));
        }
    }

    /** Loaded where the store on disk is there. */
    static final class RocksDb {
        private RocksDb() {}

        static RocksDbStoreBuilder builder(HoldfastProperties.RocksDb from, Environment environment) {
            RocksDbStoreBuilder store = RocksDbStore.builder(from.folder())
                    .survives(from.sync() ? Durability.POWER_LOSS : Durability.PROCESS_DEATH);
            owner(environment, store::belongsTo);
            if (from.takeOver()) {
                store.takeOver();
            }
            Setting.turn("holdfast.store.rocksdb.memory", from.memory(), size -> store.memory(size.toBytes()));
            return Setting.turn("holdfast.store.rocksdb.sweep-interval", from.sweepInterval(), store::sweepInterval);
        }
    }
}
