package dev.holdfast.spring.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.holdfast.redis.Certificate;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.RedisStore;
import dev.holdfast.redis.RedisStoreBuilder;
import dev.holdfast.redis.RedisStoreException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.boot.ssl.SslStoreBundle;
import org.springframework.boot.ssl.pem.PemSslStoreBundle;
import org.springframework.boot.ssl.pem.PemSslStoreDetails;
import org.springframework.mock.env.MockEnvironment;

/** The store in Redis is where a bean of Spring Data Redis says. */
@Timeout(60)
class SpringDataRedisTest {
    /** A bean that says where one server is; what else there is, is said by subclasses. */
    private static class Details implements DataRedisConnectionDetails {
        private final int port;

        Details(int port) {
            this.port = port;
        }

        @Override
        public @Nullable Standalone getStandalone() {
            return Standalone.of("127.0.0.1", port, 2);
        }
    }

    private static final class Secure extends Details {
        private final SslBundle bundle;

        Secure(int port, SslBundle bundle) {
            super(port);
            this.bundle = bundle;
        }

        @Override
        public SslBundle getSslBundle() {
            return bundle;
        }
    }

    /** A master by the name of "main" that sentinels watch. */
    private static final class Watched extends Details implements DataRedisConnectionDetails.Sentinel {
        private final int database;
        private final @Nullable String password;
        private final List<Node> nodes;

        Watched(int database, @Nullable String password, Node... nodes) {
            super(1);
            this.database = database;
            this.password = password;
            this.nodes = List.of(nodes);
        }

        @Override
        public Sentinel getSentinel() {
            return this;
        }

        @Override
        public int getDatabase() {
            return database;
        }

        @Override
        public String getMaster() {
            return "main";
        }

        @Override
        public List<Node> getNodes() {
            return nodes;
        }

        @Override
        public @Nullable String getUsername() {
            return null;
        }

        /** For Redis and for the sentinels. */
        @Override
        public @Nullable String getPassword() {
            return password;
        }
    }

    private static RedisStoreBuilder builder(DataRedisConnectionDetails details, MockEnvironment environment) {
        StaticListableBeanFactory beans = new StaticListableBeanFactory(Map.of("redis", details));
        return SpringDataRedis.in(beans, environment).orElseThrow().timeout(Duration.ofSeconds(20));
    }

    private static String address(DataRedisConnectionDetails details) {
        return shown(builder(details, new MockEnvironment()));
    }

    private static String shown(RedisStoreBuilder builder) {
        return assertThat(builder).extracting("address.shown").actual().toString();
    }

    @Test
    void whereNobodySaysAnythingTheEnvironmentIsAsked() {
        assertThat(SpringDataRedis.in(new StaticListableBeanFactory(), new MockEnvironment()))
                .isEmpty();
    }

    @Test
    void oneServerOrSentinelsOrACluster() {
        assertThat(address(new Details(7000))).isEqualTo("redis://127.0.0.1:7000/2");
        assertThat(address(new Details(1) {
                    @Override
                    public Cluster getCluster() {
                        return () -> List.of(new Node("a", 1), new Node("::1", 2));
                    }
                }))
                .isEqualTo("redis-cluster://a:1,[::1]:2");
        assertThat(address(new Watched(
                        3,
                        null,
                        new DataRedisConnectionDetails.Node("a", 1),
                        new DataRedisConnectionDetails.Node("b", 2))))
                .isEqualTo("redis-sentinel://a:1,b:2/3#main");
    }

    @Test
    void aUrlOfThePropertiesAsksForTls() {
        MockEnvironment secure = new MockEnvironment().withProperty("spring.data.redis.url", "rediss://127.0.0.1:7000");
        assertThat(shown(builder(new Details(7000), secure))).isEqualTo("rediss://127.0.0.1:7000/2");
    }

    @Test
    void aBeanThatNamesNothingIsRefused() {
        IllegalStateException refused = assertThrows(
                IllegalStateException.class,
                () -> address(new Details(1) {
                    @Override
                    public @Nullable Standalone getStandalone() {
                        return null;
                    }
                }));
        assertThat(refused).hasMessageContaining("holdfast.store.redis.url");
    }

    @Test
    void userAndPasswordAreUsed() {
        try (RedisServer redis = RedisServer.start("--user", "mcp", "on", ">secret", "~*", "&*", "+@all")) {
            DataRedisConnectionDetails known = new Details(redis.port()) {
                @Override
                public String getUsername() {
                    return "mcp";
                }

                @Override
                public String getPassword() {
                    return "secret";
                }
            };
            try (RedisStore store = builder(known, new MockEnvironment()).open()) {
                assertThat(redis.command("CLIENT", "LIST")).contains("user=mcp").contains("db=2");
                assertThat(store.trouble()).isEmpty();
            }
        }
    }

    @Test
    void sentinelsGetTheirPassword() {
        try (RedisServer redis = RedisServer.start("--requirepass", "secret");
                RedisServer sentinel =
                        RedisServer.startSentinel(redis, "requirepass secret", "sentinel auth-pass main secret")) {
            DataRedisConnectionDetails.Node node = new DataRedisConnectionDetails.Node("127.0.0.1", sentinel.port());
            try (RedisStore store = builder(new Watched(0, "secret", node), new MockEnvironment())
                    .open()) {
                assertThat(store.trouble()).isEmpty();
            }
        }
    }

    @Test
    void whatABundleTrustsAndShowsIsUsed(@TempDir Path folder) {
        Certificate certificate = Certificate.make(folder);
        String pem = certificate.pem().toUri().toString();
        PemSslStoreDetails own = PemSslStoreDetails.forCertificate(pem)
                .withPrivateKey(certificate.key().toUri().toString());
        PemSslStoreDetails trusted = PemSslStoreDetails.forCertificate(pem);
        SslOptions options = SslOptions.of(null, new String[] {"TLSv1.3"});
        try (RedisServer redis = RedisServer.startMutualTls(certificate)) {
            SslStoreBundle nothingToShow = new PemSslStoreBundle(null, trusted);
            assertThrows(RedisStoreException.class, () -> open(redis, SslBundle.of(nothingToShow, null, options)));

            SslStoreBundle all = new PemSslStoreBundle(own, trusted);
            try (RedisStore store = open(redis, SslBundle.of(all, null, options))) {
                assertThat(store.trouble()).isEmpty();
            }
        }
    }

    private static RedisStore open(RedisServer redis, SslBundle bundle) {
        return builder(new Secure(redis.port(), bundle), new MockEnvironment()).open();
    }
}
