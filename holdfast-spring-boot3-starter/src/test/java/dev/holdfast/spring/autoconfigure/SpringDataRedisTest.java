package dev.holdfast.spring.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.holdfast.redis.Certificate;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.RedisStore;
import dev.holdfast.redis.RedisStoreBuilder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.pem.PemSslStoreBundle;
import org.springframework.boot.ssl.pem.PemSslStoreDetails;
import org.springframework.mock.env.MockEnvironment;

/** The types that Spring Boot 3 has for a connection, each of which holds its own TLS. */
class SpringDataRedisTest {
    private record Details(
            @Nullable Standalone getStandalone,
            @Nullable Sentinel getSentinel,
            @Nullable Cluster getCluster,
            @Nullable String getUsername,
            @Nullable String getPassword)
            implements RedisConnectionDetails {}

    private record Watch(int getDatabase, List<RedisConnectionDetails.Node> getNodes)
            implements RedisConnectionDetails.Sentinel {
        @Override
        public String getMaster() {
            return "main";
        }

        @Override
        public @Nullable String getUsername() {
            return null;
        }

        @Override
        public @Nullable String getPassword() {
            return null;
        }
    }

    private static Details server(RedisConnectionDetails.@Nullable Standalone server, @Nullable String password) {
        return new Details(server, null, null, null, password);
    }

    private static RedisStoreBuilder builder(RedisConnectionDetails details) {
        StaticListableBeanFactory beans = new StaticListableBeanFactory(Map.of("redis", details));
        return RedisSettings.ofBean(beans, new MockEnvironment()).orElseThrow().timeout(Duration.ofSeconds(20));
    }

    private static String address(RedisConnectionDetails details) {
        return assertThat(builder(details)).extracting("address.shown").actual().toString();
    }

    @Test
    void oneServerOrSentinelsOrACluster() {
        assertThat(address(server(RedisConnectionDetails.Standalone.of("127.0.0.1", 7000, 2), null)))
                .isEqualTo("redis://127.0.0.1:7000/2");
        List<RedisConnectionDetails.Node> nodes =
                List.of(new RedisConnectionDetails.Node("a", 1), new RedisConnectionDetails.Node("b", 2));
        assertThat(address(new Details(null, new Watch(3, nodes), null, null, null)))
                .isEqualTo("redis-sentinel://a:1,b:2/3#main");
        assertThat(address(new Details(null, null, () -> nodes, null, null))).isEqualTo("redis-cluster://a:1,b:2");
    }

    @Test
    void aBeanThatNamesNothingIsRefused() {
        assertThat(assertThrows(IllegalStateException.class, () -> address(server(null, null))))
                .hasMessageContaining("holdfast.store.redis.url");
    }

    @Test
    void aPasswordIsUsed() {
        try (RedisServer redis = RedisServer.start("--requirepass", "secret");
                RedisStore store = builder(
                                server(RedisConnectionDetails.Standalone.of("127.0.0.1", redis.port(), 2), "secret"))
                        .open()) {
            assertThat(store.trouble()).isEmpty();
        }
    }

    @Test
    void whatABundleTrustsAndShowsIsUsed(@TempDir Path folder) {
        Certificate certificate = Certificate.make(folder);
        String pem = certificate.pem().toUri().toString();
        PemSslStoreDetails trusted = PemSslStoreDetails.forCertificate(pem);
        PemSslStoreDetails own =
                trusted.withPrivateKey(certificate.key().toUri().toString());
        SslBundle bundle = SslBundle.of(new PemSslStoreBundle(own, trusted));
        try (RedisServer redis = RedisServer.startMutualTls(certificate);
                RedisStore store = builder(server(
                                RedisConnectionDetails.Standalone.of("127.0.0.1", redis.port(), 0, bundle), null))
                        .open()) {
            assertThat(store.trouble()).isEmpty();
        }
    }
}
