package dev.holdfast.spring.autoconfigure;

import dev.holdfast.NoStore;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spring.properties.HoldfastProperties;
import dev.holdfast.spring.properties.InvalidPropertyException;
import dev.holdfast.spring.properties.RedisSettings;
import dev.holdfast.spring.properties.StoreSettings;
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
                yield StoreSettings.rocksDb(store.rocksdb(), environment).open();
            }
            case REDIS -> {
                need(REDIS, "redis", resources);
                yield RedisSettings.redis(store.redis(), environment, () -> SpringDataRedis.in(beans, environment))
                        .open();
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
}
