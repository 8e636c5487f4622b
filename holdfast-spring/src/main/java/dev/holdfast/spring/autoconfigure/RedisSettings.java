package dev.holdfast.spring.autoconfigure;

import dev.holdfast.redis.RedisStore;
import dev.holdfast.redis.RedisStoreBuilder;
import dev.holdfast.spring.properties.HoldfastProperties;
import dev.holdfast.spring.properties.InvalidPropertyException;
import dev.holdfast.spring.properties.Setting;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

/**
 * Where the store in Redis is, by the first that says so: {@code holdfast.store.redis.url}; a bean of Spring Data Redis, made by
 * Testcontainers, Docker Compose, the application, or Spring Boot; {@code spring.data.redis.*}.
 */
final class RedisSettings {
    static final String DETAILS = "org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails";

    /** The same in Spring Boot 3. */
    static final String DETAILS_3 = "org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails";

    private static final String PORT = "6379";
    private static final String URL = "holdfast.store.redis.url";
    private static final String SPRING = "spring.data.redis.";
    private static final String SENTINEL = SPRING + "sentinel.";
    private static final String PLAIN = "redis://";
    private static final String SECURE = "rediss://";

    private RedisSettings() {}

    /**
     * The builder of the store.
     *
     * @throws InvalidPropertyException if a property is out of its range
     */
    static RedisStoreBuilder redis(HoldfastProperties.Redis from, Environment environment, BeanFactory beans) {
        String url = from.url();
        RedisStoreBuilder store =
                url == null ? ofBean(beans, environment).orElseGet(() -> ofProperties(environment)) : builder(URL, url);
        Setting.turn("holdfast.store.redis.prefix", from.prefix(), store::prefix);
        StoreConfiguration.owner(environment, store::belongsTo);
        if (from.takeOver()) {
            store.takeOver();
        }
        return Setting.turn("holdfast.store.redis.timeout", from.timeout(), store::timeout);
    }

    /** The value may hold a password: only the reason, which holds none, is told. */
    private static RedisStoreBuilder builder(String property, String url) {
        try {
            return RedisStore.builder(url);
        } catch (IllegalArgumentException refused) {
            throw new InvalidPropertyException(property, "(hidden)", String.valueOf(refused.getMessage()));
        }
    }

    /** Gives a user's name and password to a builder; without a name, that of Redis' user {@code default}. Empty is none. */
    private static void login(@Nullable String user, @Nullable String password, BiConsumer<String, char[]> builder) {
        if (password != null && StringUtils.hasText(password)) {
            builder.accept(user != null && StringUtils.hasText(user) ? user : "default", password.toCharArray());
        }
    }

    private static String standalone(String host, String port, String database) {
        return "://" + hostAndPort(host, port) + "/" + database;
    }

    private static String sentinel(String nodes, String database, String master) {
        return "-sentinel://" + nodes + "/" + database + "#" + master;
    }

    private static String cluster(String nodes) {
        return "-cluster://" + nodes;
    }

    /** For a URL: an IPv6 address in brackets. */
    private static String hostAndPort(String host, String port) {
        return (host.contains(":") && !host.startsWith("[") ? "[" + host + "]" : host) + ":" + port;
    }

    private static InvalidPropertyException noMaster(String replicas) {
        return new InvalidPropertyException(
                SPRING + "masterreplica.nodes", replicas, "does not say which one is the master: set " + URL);
    }

    private static RedisStoreBuilder ofProperties(Environment environment) {
        String replicas = nodes(environment, "masterreplica.nodes");
        if (!replicas.isEmpty()) {
            throw noMaster(replicas);
        }
        boolean bundle = environment.getProperty(SPRING + "ssl.bundle") != null;
        // as Spring Boot sees it: a bundle means TLS, unless that is said to be off
        boolean secure = environment.getProperty(SPRING + "ssl.enabled", Boolean.class, bundle);
        String url = environment.getProperty(SPRING + "url");
        if (url != null) {
            boolean plain = url.startsWith(PLAIN) && secure;
            return builder(SPRING + "url", plain ? SECURE + url.substring(PLAIN.length()) : url);
        }
        boolean watched = environment.containsProperty(SENTINEL + "master");
        return new Server(
                        address(environment),
                        null,
                        environment.getProperty(SPRING + "username"),
                        environment.getProperty(SPRING + "password"),
                        watched ? environment.getProperty(SENTINEL + "username") : null,
                        watched ? environment.getProperty(SENTINEL + "password") : null)
                .builder(secure);
    }

    private static String address(Environment environment) {
        String database = environment.getProperty(SPRING + "database", "0");
        String master = environment.getProperty(SENTINEL + "master");
        if (master != null) {
            return sentinel(nodes(environment, "sentinel.nodes"), database, master);
        }
        String cluster = nodes(environment, "cluster.nodes");
        if (!cluster.isEmpty()) {
            return cluster(cluster);
        }
        String host = environment.getProperty(SPRING + "host", "localhost");
        String port = environment.getProperty(SPRING + "port", "").strip();
        return standalone(host, port.isEmpty() ? PORT : port, database);
    }

    private static String nodes(Environment environment, String name) {
        List<String> nodes = Binder.get(environment)
                .bind(SPRING + name, Bindable.listOf(String.class))
                .orElse(List.of());
        return String.join(",", nodes);
    }

    /** The builder of a store where a bean of Spring Data Redis says. */
    static Optional<RedisStoreBuilder> ofBean(BeanFactory beans, Environment environment) {
        ClassLoader classes = RedisSettings.class.getClassLoader();
        Optional<Server> server = Optional.empty();
        if (ClassUtils.isPresent(DETAILS, classes)) {
            server = Boot4.in(beans);
        } else if (ClassUtils.isPresent(DETAILS_3, classes)) {
            server = Boot3.in(beans);
        }
        // the bean that Spring Boot makes of the URL does not tell that this asks for TLS
        boolean secure = environment.getProperty(SPRING + "url", "").startsWith(SECURE);
        return server.map(found -> found.builder(secure));
    }

    /**
     * A server, or those that lead to it.
     *
     * @param address its URL without the scheme's first word: {@code ://host:port/0}, {@code -sentinel://...}, {@code -cluster://...}
     * @param bundle what TLS stands on, where a bean asks for it
     */
    private record Server(
            String address,
            @Nullable SslBundle bundle,
            @Nullable String user,
            @Nullable String password,
            @Nullable String sentinelUser,
            @Nullable String sentinelPassword) {
        RedisStoreBuilder builder(boolean secure) {
            RedisStoreBuilder store =
                    RedisSettings.builder(SPRING + "host", (bundle != null || secure ? "rediss" : "redis") + address);
            login(user, password, store::credentials);
            login(sentinelUser, sentinelPassword, store::sentinelCredentials);
            if (bundle != null) {
                store.identity(bundle.getManagers().getKeyManagerFactory());
                store.trust(bundle.getManagers().getTrustManagerFactory());
                SslOptions options = bundle.getOptions();
                if (options.getEnabledProtocols() != null) {
                    store.tlsProtocols(List.of(options.getEnabledProtocols()));
                }
                if (options.getCiphers() != null) {
                    store.tlsCiphers(List.of(options.getCiphers()));
                }
            }
            return store;
        }
    }

    private static <N> String nodes(List<N> nodes, Function<N, String> host, ToIntFunction<N> port) {
        return nodes.stream()
                .map(node -> hostAndPort(host.apply(node), port(port.applyAsInt(node))))
                .collect(Collectors.joining(","));
    }

    /** A URL without a port has the port -1. */
    private static String port(int port) {
        return port < 0 ? PORT : Integer.toString(port);
    }

    private static IllegalStateException nothing(String details) {
        return new IllegalStateException("the bean of " + details
                + " names no server, no sentinels and no cluster: holdfast.store.redis.url can name it");
    }

    /** Loaded where Spring Boot's module for Spring Data Redis is there. */
    private static final class Boot4 {
        private static Optional<Server> in(BeanFactory beans) {
            return Optional.ofNullable(beans.getBeanProvider(DataRedisConnectionDetails.class)
                            .getIfAvailable())
                    .map(Boot4::server);
        }

        private static Server server(DataRedisConnectionDetails details) {
            SslBundle bundle = details.getSslBundle();
            String user = details.getUsername();
            String password = details.getPassword();
            DataRedisConnectionDetails.Sentinel sentinel = details.getSentinel();
            if (sentinel != null) {
                String database = Integer.toString(sentinel.getDatabase());
                String address = sentinel(nodes(sentinel.getNodes()), database, sentinel.getMaster());
                return new Server(address, bundle, user, password, sentinel.getUsername(), sentinel.getPassword());
            }
            return new Server(address(details), bundle, user, password, null, null);
        }

        private static String address(DataRedisConnectionDetails details) {
            DataRedisConnectionDetails.Cluster cluster = details.getCluster();
            if (cluster != null) {
                return cluster(nodes(cluster.getNodes()));
            }
            DataRedisConnectionDetails.MasterReplica replicas = details.getMasterReplica();
            if (replicas != null) {
                throw noMaster(nodes(replicas.getNodes()));
            }
            DataRedisConnectionDetails.Standalone server = details.getStandalone();
            if (server == null) {
                throw nothing(DETAILS);
            }
            return standalone(server.getHost(), port(server.getPort()), Integer.toString(server.getDatabase()));
        }

        private static String nodes(List<DataRedisConnectionDetails.Node> nodes) {
            return RedisSettings.nodes(
                    nodes, DataRedisConnectionDetails.Node::host, DataRedisConnectionDetails.Node::port);
        }
    }

    /** Loaded where Spring Boot is 3, which has a bundle for each kind. */
    private static final class Boot3 {
        private static Optional<Server> in(BeanFactory beans) {
            return Optional.ofNullable(
                            beans.getBeanProvider(RedisConnectionDetails.class).getIfAvailable())
                    .map(Boot3::server);
        }

        private static Server server(RedisConnectionDetails details) {
            String user = details.getUsername();
            String password = details.getPassword();
            RedisConnectionDetails.Sentinel sentinel = details.getSentinel();
            if (sentinel != null) {
                String database = Integer.toString(sentinel.getDatabase());
                String address = sentinel(nodes(sentinel.getNodes()), database, sentinel.getMaster());
                SslBundle bundle = sentinel.getSslBundle();
                return new Server(address, bundle, user, password, sentinel.getUsername(), sentinel.getPassword());
            }
            RedisConnectionDetails.Cluster cluster = details.getCluster();
            if (cluster != null) {
                String address = cluster(nodes(cluster.getNodes()));
                return new Server(address, cluster.getSslBundle(), user, password, null, null);
            }
            RedisConnectionDetails.Standalone server = details.getStandalone();
            if (server == null) {
                throw nothing(DETAILS_3);
            }
            String address =
                    standalone(server.getHost(), port(server.getPort()), Integer.toString(server.getDatabase()));
            return new Server(address, server.getSslBundle(), user, password, null, null);
        }

        private static String nodes(List<RedisConnectionDetails.Node> nodes) {
            return RedisSettings.nodes(nodes, RedisConnectionDetails.Node::host, RedisConnectionDetails.Node::port);
        }
    }
}
