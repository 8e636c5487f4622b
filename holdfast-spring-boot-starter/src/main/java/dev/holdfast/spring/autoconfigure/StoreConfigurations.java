package dev.holdfast.spring.autoconfigure;

import dev.holdfast.NoStore;
import dev.holdfast.redis.RedisStore;
import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spring.properties.HoldfastProperties;
import dev.holdfast.spring.properties.InvalidPropertyException;
import dev.holdfast.spring.properties.RedisSettings;
import dev.holdfast.spring.properties.StoreSettings;
import java.util.Locale;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** One for each store that {@code holdfast.store.type} can name; a {@link SessionStore} of the application's own wins over all. */
final class StoreConfigurations {
    private StoreConfigurations() {}

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(RocksDbStore.class)
    @ConditionalOnProperty(prefix = "holdfast.store", name = "type", havingValue = "rocksdb")
    @ConditionalOnMissingBean(SessionStore.class)
    static class RocksDb {
        @Bean(destroyMethod = "close")
        SessionStore holdfastSessionStore(HoldfastProperties properties) {
            return StoreSettings.rocksDb(properties.store().rocksdb()).open();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(RedisStore.class)
    @ConditionalOnProperty(prefix = "holdfast.store", name = "type", havingValue = "redis")
    @ConditionalOnMissingBean(SessionStore.class)
    static class Redis {
        @Bean(destroyMethod = "close")
        SessionStore holdfastSessionStore(HoldfastProperties properties, Environment environment, BeanFactory beans) {
            return RedisSettings.redis(
                            properties.store().redis(), environment, () -> SpringDataRedis.in(beans, environment))
                    .open();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingBean(SessionStore.class)
    static class Memory {
        @Bean(destroyMethod = "close")
        SessionStore holdfastSessionStore(HoldfastProperties properties) {
            HoldfastProperties.StoreType type = properties.store().type();
            if (type != HoldfastProperties.StoreType.MEMORY) {
                String name = type.name().toLowerCase(Locale.ROOT);
                throw new InvalidPropertyException(
                        "holdfast.store.type",
                        name,
                        "needs dev.holdfast:holdfast-store-" + name + " on the class path");
            }
            return new NoStore();
        }
    }
}
