package dev.holdfast.spring.autoconfigure;

import dev.holdfast.redis.RedisStoreBuilder;
import dev.holdfast.spring.properties.RedisSettings;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Node;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/** The server that Spring Data Redis was given by a bean: of Testcontainers, of Docker Compose, of the application, or of its properties. */
final class SpringDataRedis {
    static final String DETAILS = "org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails";

    private SpringDataRedis() {}

    static Optional<RedisStoreBuilder> in(BeanFactory beans, Environment environment) {
        return ClassUtils.isPresent(DETAILS, SpringDataRedis.class.getClassLoader())
                ? Details.in(beans, environment)
                : Optional.empty();
    }

    /** Loaded where Spring Boot's module for Spring Data Redis is there. */
    private static final class Details {
        private static Optional<RedisStoreBuilder> in(BeanFactory beans, Environment environment) {
            return Optional.ofNullable(beans.getBeanProvider(DataRedisConnectionDetails.class)
                            .getIfAvailable())
                    .map(details -> builder(details, environment));
        }

        private static RedisStoreBuilder builder(DataRedisConnectionDetails details, Environment environment) {
            SslBundle bundle = details.getSslBundle();
            boolean secure = bundle != null || RedisSettings.secureUrl(environment);
            RedisStoreBuilder store = RedisSettings.at(address(details, secure));
            RedisSettings.as(details.getUsername(), details.getPassword(), store::credentials);
            DataRedisConnectionDetails.Sentinel sentinel = details.getSentinel();
            if (sentinel != null) {
                RedisSettings.as(sentinel.getUsername(), sentinel.getPassword(), store::sentinelCredentials);
            }
            return bundle == null ? store : with(bundle, store);
        }

        private static String address(DataRedisConnectionDetails details, boolean secure) {
            String scheme = secure ? "rediss" : "redis";
            DataRedisConnectionDetails.Sentinel sentinel = details.getSentinel();
            if (sentinel != null) {
                return scheme + "-sentinel://" + nodes(sentinel.getNodes()) + "/" + sentinel.getDatabase() + "#"
                        + sentinel.getMaster();
            }
            DataRedisConnectionDetails.Cluster cluster = details.getCluster();
            if (cluster != null) {
                return scheme + "-cluster://" + nodes(cluster.getNodes());
            }
            DataRedisConnectionDetails.MasterReplica replicas = details.getMasterReplica();
            if (replicas != null) {
                throw RedisSettings.noMaster(nodes(replicas.getNodes()));
            }
            DataRedisConnectionDetails.Standalone server = details.getStandalone();
            if (server == null) {
                throw new IllegalStateException("the bean of " + DETAILS
                        + " names no server, no sentinels and no cluster: holdfast.store.redis.url can name it");
            }
            return scheme + "://" + node(new Node(server.getHost(), server.getPort())) + "/" + server.getDatabase();
        }

        private static String nodes(List<Node> nodes) {
            return nodes.stream().map(Details::node).collect(Collectors.joining(","));
        }

        /** A URL without a port has the port -1. */
        private static String node(Node node) {
            String port = node.port() < 0 ? RedisSettings.PORT : Integer.toString(node.port());
            return RedisSettings.hostAndPort(node.host(), port);
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
    }
}
