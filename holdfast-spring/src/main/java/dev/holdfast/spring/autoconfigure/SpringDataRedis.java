package dev.holdfast.spring.autoconfigure;

import dev.holdfast.redis.RedisStoreBuilder;
import dev.holdfast.spring.properties.RedisSettings;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/**
 * The server that Spring Data Redis was given by a bean: of Testcontainers, of Docker Compose, of the application, or of its properties.
 *
 * @param address its URL without the scheme's first word: {@code ://host:port/0}, {@code -sentinel://...}, {@code -cluster://...}
 * @param bundle what TLS stands on, where the bean asks for it
 */
record SpringDataRedis(
        String address,
        @Nullable SslBundle bundle,
        @Nullable String user,
        @Nullable String password,
        @Nullable String sentinelUser,
        @Nullable String sentinelPassword) {
    static final String DETAILS = "org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails";

    /** The same in Spring Boot 3. */
    static final String DETAILS_3 = "org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails";

    static Optional<RedisStoreBuilder> in(BeanFactory beans, Environment environment) {
        ClassLoader classes = SpringDataRedis.class.getClassLoader();
        Optional<SpringDataRedis> server = Optional.empty();
        if (ClassUtils.isPresent(DETAILS, classes)) {
            server = Boot4.in(beans);
        } else if (ClassUtils.isPresent(DETAILS_3, classes)) {
            server = Boot3.in(beans);
        }
        return server.map(found -> found.builder(environment));
    }

    private RedisStoreBuilder builder(Environment environment) {
        boolean secure = bundle != null || RedisSettings.secureUrl(environment);
        RedisStoreBuilder store = RedisSettings.at((secure ? "rediss" : "redis") + address);
        RedisSettings.as(user, password, store::credentials);
        RedisSettings.as(sentinelUser, sentinelPassword, store::sentinelCredentials);
        return bundle == null ? store : with(bundle, store);
    }

    private static RedisStoreBuilder with(SslBundle bundle, RedisStoreBuilder store) {
        store.identity(bundle.getManagers().getKeyManagerFactory());
        store.trust(bundle.getManagers().getTrustManagerFactory());
        SslOptions options = bundle.getOptions();
        if (options.getEnabledProtocols() != null) {
            store.tlsProtocols(List.of(options.getEnabledProtocols()));
        }
        if (options.getCiphers() != null) {
            store.tlsCiphers(List.of(options.getCiphers()));
        }
        return store;
    }

    private static String sentinel(String nodes, int database, String master) {
        return "-sentinel://" + nodes + "/" + database + "#" + master;
    }

    private static String standalone(String host, int port, int database) {
        return "://" + hostAndPort(host, port) + "/" + database;
    }

    private static <N> String nodes(List<N> nodes, Function<N, String> host, ToIntFunction<N> port) {
        return nodes.stream()
                .map(node -> hostAndPort(host.apply(node), port.applyAsInt(node)))
                .collect(Collectors.joining(","));
    }

    /** A URL without a port has the port -1. */
    private static String hostAndPort(String host, int port) {
        return RedisSettings.hostAndPort(host, port < 0 ? RedisSettings.PORT : Integer.toString(port));
    }

    private static IllegalStateException nothing(String details) {
        return new IllegalStateException("the bean of " + details
                + " names no server, no sentinels and no cluster: holdfast.store.redis.url can name it");
    }

    /** Loaded where Spring Boot's module for Spring Data Redis is there. */
    private static final class Boot4 {
        private static Optional<SpringDataRedis> in(BeanFactory beans) {
            return Optional.ofNullable(beans.getBeanProvider(DataRedisConnectionDetails.class)
                            .getIfAvailable())
                    .map(Boot4::server);
        }

        private static SpringDataRedis server(DataRedisConnectionDetails details) {
            DataRedisConnectionDetails.Sentinel sentinel = details.getSentinel();
            if (sentinel != null) {
                return new SpringDataRedis(
                        sentinel(nodes(sentinel.getNodes()), sentinel.getDatabase(), sentinel.getMaster()),
                        details.getSslBundle(),
                        details.getUsername(),
                        details.getPassword(),
                        sentinel.getUsername(),
                        sentinel.getPassword());
            }
            return new SpringDataRedis(
                    address(details), details.getSslBundle(), details.getUsername(), details.getPassword(), null, null);
        }

        private static String address(DataRedisConnectionDetails details) {
            DataRedisConnectionDetails.Cluster cluster = details.getCluster();
            if (cluster != null) {
                return "-cluster://" + nodes(cluster.getNodes());
            }
            DataRedisConnectionDetails.MasterReplica replicas = details.getMasterReplica();
            if (replicas != null) {
                throw RedisSettings.noMaster(nodes(replicas.getNodes()));
            }
            DataRedisConnectionDetails.Standalone server = details.getStandalone();
            if (server == null) {
                throw nothing(DETAILS);
            }
            return standalone(server.getHost(), server.getPort(), server.getDatabase());
        }

        private static String nodes(List<DataRedisConnectionDetails.Node> nodes) {
            return SpringDataRedis.nodes(
                    nodes, DataRedisConnectionDetails.Node::host, DataRedisConnectionDetails.Node::port);
        }
    }

    /** Loaded where Spring Boot is 3. */
    private static final class Boot3 {
        private static Optional<SpringDataRedis> in(BeanFactory beans) {
            return Optional.ofNullable(
                            beans.getBeanProvider(RedisConnectionDetails.class).getIfAvailable())
                    .map(Boot3::server);
        }

        private static SpringDataRedis server(RedisConnectionDetails details) {
            String user = details.getUsername();
            String password = details.getPassword();
            RedisConnectionDetails.Sentinel sentinel = details.getSentinel();
            if (sentinel != null) {
                return new SpringDataRedis(
                        sentinel(nodes(sentinel.getNodes()), sentinel.getDatabase(), sentinel.getMaster()),
                        sentinel.getSslBundle(),
                        user,
                        password,
                        sentinel.getUsername(),
                        sentinel.getPassword());
            }
            RedisConnectionDetails.Cluster cluster = details.getCluster();
            if (cluster != null) {
                String address = "-cluster://" + nodes(cluster.getNodes());
                return new SpringDataRedis(address, cluster.getSslBundle(), user, password, null, null);
            }
            RedisConnectionDetails.Standalone server = details.getStandalone();
            if (server == null) {
                throw nothing(DETAILS_3);
            }
            String address = standalone(server.getHost(), server.getPort(), server.getDatabase());
            return new SpringDataRedis(address, server.getSslBundle(), user, password, null, null);
        }

        private static String nodes(List<RedisConnectionDetails.Node> nodes) {
            return SpringDataRedis.nodes(nodes, RedisConnectionDetails.Node::host, RedisConnectionDetails.Node::port);
        }
    }
}
