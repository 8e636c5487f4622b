package dev.holdfast.spring.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.holdfast.redis.RedisStoreBuilder;
import dev.holdfast.spring.properties.HoldfastProperties;
import dev.holdfast.spring.properties.InvalidPropertyException;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.mock.env.MockEnvironment;

/** Where the properties of stores lead: that in Redis is where its own property says, or where Spring Data Redis is told to look. */
class StoreSettingsTest {
    private static final HoldfastProperties.Redis UNSET =
            new HoldfastProperties.Redis(null, "holdfast:", Duration.ofSeconds(2), false);

    private static MockEnvironment environment(String properties) {
        MockEnvironment environment = new MockEnvironment();
        for (String property : properties.split(" ", -1)) {
            int equals = property.indexOf('=');
            environment.setProperty(
                    "spring.data.redis." + property.substring(0, equals), property.substring(equals + 1));
        }
        return environment;
    }

    private static RedisStoreBuilder redis(HoldfastProperties.Redis from, MockEnvironment environment) {
        return RedisSettings.redis(from, environment, new StaticListableBeanFactory());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "port=7000                                  | redis://localhost:7000/0",
                "host=r port=7000 database=3                | redis://r:7000/3",
                "host=r port=                               | redis://r:6379/0",
                "host=::1 port=7000                         | redis://[::1]:7000/0",
                "host=r ssl.enabled=true username=u password=p | rediss://r:6379/0",
                "host=r ssl.bundle=b                        | rediss://r:6379/0",
                "host=r ssl.bundle=b ssl.enabled=false      | redis://r:6379/0",
                "url=redis://u:p@h:7001/2                   | redis://h:7001/2",
                "url=redis://u:p@h:7001/2 ssl.bundle=b      | rediss://h:7001/2",
                "url=redis://h:7001 ssl.enabled=true        | rediss://h:7001",
                "url=rediss://h:7001                        | rediss://h:7001",
                "sentinel.master=main sentinel.nodes=a:1 ssl.bundle=b | rediss-sentinel://a:1/0#main",
                "sentinel.master=main sentinel.nodes=a:1,b:2 | redis-sentinel://a:1,b:2/0#main",
                "cluster.nodes[0]=a:1 cluster.nodes[1]=b:2  | redis-cluster://a:1,b:2"
            })
    void whatSpringDataRedisIsToldIsUsed(String properties, String address) {
        RedisStoreBuilder builder = redis(UNSET, environment(properties));
        assertThat(builder).extracting("address.shown").isEqualTo(address);
    }

    @Test
    void thePropertiesOfTheStoreWin() {
        HoldfastProperties.Redis own =
                new HoldfastProperties.Redis("redis://own", "svc:", Duration.ofSeconds(1), false);
        assertThat(redis(own, environment("url=redis://other")))
                .hasFieldOrPropertyWithValue("prefix", "svc:")
                .hasFieldOrPropertyWithValue("timeout", Duration.ofSeconds(1))
                .extracting("address.shown")
                .isEqualTo("redis://own");
    }

    @Test
    void sentinelsHaveAUserOfTheirOwn() {
        String sentinels = "sentinel.master=main sentinel.nodes=a:1 password=redis";
        assertThat(sentinelPassword(redis(UNSET, environment(sentinels)))).isEmpty();
        assertThat(sentinelPassword(redis(UNSET, environment(sentinels + " sentinel.password=theirs"))))
                .isEqualTo("default:theirs");
        assertThat(sentinelPassword(
                        redis(UNSET, environment(sentinels + " sentinel.username=me sentinel.password=theirs"))))
                .isEqualTo("me:theirs");
    }

    private static String sentinelPassword(RedisStoreBuilder builder) {
        RedisURI seed = (RedisURI) assertThat(builder)
                .extracting("address.seeds")
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .first()
                .actual();
        RedisCredentials known = Objects.requireNonNull(seed.getSentinels()
                .get(0)
                .getCredentialsProvider()
                .resolveCredentials()
                .block());
        return known.hasPassword() ? known.getUsername() + ":" + String.valueOf(known.getPassword()) : "";
    }

    @Test
    void replicasWithoutAWordWhichIsTheMasterAreRefused() {
        MockEnvironment replicas = environment("masterreplica.nodes=a:1,b:2");
        assertThat(assertThrows(InvalidPropertyException.class, () -> redis(UNSET, replicas)))
                .hasMessageContaining("spring.data.redis.masterreplica.nodes")
                .hasMessageContaining("holdfast.store.redis.url");
    }

    @Test
    void aPortThatIsNoneIsRefused() {
        MockEnvironment port = environment("port=many");
        assertThat(assertThrows(InvalidPropertyException.class, () -> redis(UNSET, port)))
                .hasMessageContaining("spring.data.redis")
                .hasMessageContaining("redis://host:6379");
    }

    @Test
    void aWrongValueIsRefusedWithItsProperty() {
        MockEnvironment none = new MockEnvironment();
        HoldfastProperties.Redis url =
                new HoldfastProperties.Redis("http://u:secret@h", "holdfast:", Duration.ofSeconds(2), false);
        InvalidPropertyException refused = assertThrows(InvalidPropertyException.class, () -> redis(url, none));
        assertThat(refused.property()).isEqualTo("holdfast.store.redis.url");
        assertThat(refused.getMessage()).contains("redis://").doesNotContain("secret");

        HoldfastProperties.Redis prefix = new HoldfastProperties.Redis(null, "{a}", Duration.ofSeconds(2), false);
        assertThat(assertThrows(InvalidPropertyException.class, () -> redis(prefix, none))
                        .property())
                .isEqualTo("holdfast.store.redis.prefix");

        HoldfastProperties.Redis timeout = new HoldfastProperties.Redis(null, "a:", Duration.ofHours(1), false);
        assertThat(assertThrows(InvalidPropertyException.class, () -> redis(timeout, none))
                        .property())
                .isEqualTo("holdfast.store.redis.timeout");
    }

    @Test
    void theStoreOnDiskGetsItsMemoryAndItsSweeps() {
        MapConfigurationPropertySource properties = new MapConfigurationPropertySource(Map.of(
                "holdfast.store.rocksdb.memory", "7MB",
                "holdfast.store.rocksdb.sweep-interval", "7s"));
        HoldfastProperties.RocksDb bound = new Binder(properties)
                .bindOrCreate("holdfast", HoldfastProperties.class)
                .store()
                .rocksdb();

        assertThat(StoreConfiguration.RocksDb.builder(bound, new MockEnvironment()))
                .hasFieldOrPropertyWithValue("memoryBytes", 7L << 20)
                .hasFieldOrPropertyWithValue("sweepInterval", Duration.ofSeconds(7));
    }
}
