package dev.holdfast.spring.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.holdfast.redis.Certificate;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.RedisStore;
import dev.holdfast.redis.RedisStoreBuilder;
import dev.holdfast.redis.RedisStoreException;
import dev.holdfast.spring.properties.InvalidPropertyException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.boot.ssl.SslStoreBundle;
import org.springframework.boot.ssl.pem.PemSslStoreBundle;
import org.springframework.boot.ssl.pem.PemSslStoreDetails;
import org.springframework.mock.env.MockEnvironment;

/** The store in Redis is where a bean of Spring Data Redis says. */
@Timeout(120)
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

    private static final class Known extends Details {
        private final String user;
        private final String password;

        Known(int port, String user, String password) {
            super(port);
            this.user = user;
            this.password = password;
        }

        @Override
        public String getUsername() {
            return user;
        }

        @Override
        public String getPassword() {
            return password;
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
    private record Watch(int getDatabase, @Nullable String getPassword, List<DataRedisConnectionDetails.Node> getNodes)
            implements DataRedisConnectionDetails.Sentinel {
        Watch(int database, @Nullable String password, DataRedisConnectionDetails.Node... nodes) {
            this(database, password, List.of(nodes));
        }

        @Override
        public String getMaster() {
            return "main";
        }

        @Override
        public @Nullable String getUsername() {
            return null;
        }
    }

    private static final class Watched extends Details {
        private final Sentinel watch;
        private final @Nullable String password;

        Watched(Sentinel watch, @Nullable String password) {
            super(1);
            this.watch = watch;
            this.password = password;
        }

        @Override
        public Sentinel getSentinel() {
            return watch;
        }

        @Override
        public @Nullable String getPassword() {
            return password;
        }
    }

    private static RedisStoreBuilder builder(DataRedisConnectionDetails details, MockEnvironment environment) {
        StaticListableBeanFactory beans = new StaticListableBeanFactory(Map.of("redis", details));
        return RedisSettings.ofBean(beans, environment).orElseThrow().timeout(Duration.ofSeconds(20));
    }

    private static String address(DataRedisConnectionDetails details) {
        return shown(builder(details, new MockEnvironment()));
    }

    private static String shown(RedisStoreBuilder builder) {
        return assertThat(builder).extracting("address.shown").actual().toString();
    }

    @Test
    void whereNobodySaysAnythingTheEnvironmentIsAsked() {
        assertThat(RedisSettings.ofBean(new StaticListableBeanFactory(), new MockEnvironment()))
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
        Watch watch = new Watch(
                3, null, new DataRedisConnectionDetails.Node("a", 1), new DataRedisConnectionDetails.Node("b", 2));
        assertThat(address(new Watched(watch, null))).isEqualTo("redis-sentinel://a:1,b:2/3#main");
    }

    @Test
    void aUrlOfThePropertiesAsksForTls() {
        MockEnvironment secure = new MockEnvironment().withProperty("spring.data.redis.url", "rediss://127.0.0.1:7000");
        assertThat(shown(builder(new Details(7000), secure))).isEqualTo("rediss://127.0.0.1:7000/2");
    }

    @Test
    void aServerWithoutAPortHasThatOfRedis() {
        assertThat(address(new Details(-1))).isEqualTo("redis://127.0.0.1:6379/2");
    }

    @Test
    void aMasterThatNobodyNamesIsRefused() {
        DataRedisConnectionDetails.MasterReplica replicas = () -> List.of(new DataRedisConnectionDetails.Node("a", 1));
        Details details = new Details(7000) {
            @Override
            public MasterReplica getMasterReplica() {
                return replicas;
            }
        };
        InvalidPropertyException refused = assertThrows(InvalidPropertyException.class, () -> address(details));
        assertThat(refused)
                .hasMessageContaining("spring.data.redis.masterreplica.nodes")
                .hasMessageContaining("a:1")
                .hasMessageContaining("holdfast.store.redis.url");
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
            Known known = new Known(redis.port(), "mcp", "secret");
            try (RedisStore store = builder(known, new MockEnvironment()).open()) {
                assertThat(redis.command("CLIENT", "LIST")).contains("user=mcp").contains("db=2");
                assertThat(store.trouble()).isEmpty();
            }
        }
    }

    /** Spring Boot makes these of {@code redis://:secret@host}, and of properties whose placeholders are empty. */
    @ParameterizedTest
    @ValueSource(strings = {"secret", ""})
    void anEmptyUserOrPasswordIsNone(String password) {
        try (RedisServer redis = RedisServer.start("--requirepass", password)) {
            Known known = new Known(redis.port(), "", password);
            try (RedisStore store = builder(known, new MockEnvironment()).open()) {
                assertThat(store.trouble()).isEmpty();
            }
        }
    }

    @Test
    void sentinelsGetTheirPassword() {
        try (RedisServer redis = RedisServer.start("--requirepass", "secret");
                RedisServer sentinel =
                        RedisServer.startSentinel(redis, "requirepass other", "sentinel auth-pass main secret")) {
            DataRedisConnectionDetails.Node node = new DataRedisConnectionDetails.Node("127.0.0.1", sentinel.port());
            Watched watched = new Watched(new Watch(0, "other", node), "secret");
            try (RedisStore store = builder(watched, new MockEnvironment()).open()) {
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
            SslOptions old = SslOptions.of(null, new String[] {"TLSv1.1"});
            assertThrows(RedisStoreException.class, () -> open(redis, SslBundle.of(all, null, old)));
            SslOptions unfit =
                    SslOptions.of(new String[] {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}, new String[] {"TLSv1.3"});
            assertThrows(RedisStoreException.class, () -> open(redis, SslBundle.of(all, null, unfit)));
            try (RedisStore store = open(redis, SslBundle.of(all, null, options))) {
                assertThat(store.trouble()).isEmpty();
            }
        }
    }

    private static RedisStore open(RedisServer redis, SslBundle bundle) {
        return builder(new Secure(redis.port(), bundle), new MockEnvironment()).open();
    }
}
