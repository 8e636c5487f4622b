package dev.holdfast.spring.properties;

import static dev.holdfast.spring.properties.Knob.turn;

import dev.holdfast.redis.RedisStore;
import dev.holdfast.redis.RedisStoreBuilder;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/** What the properties of the store in Redis come to, and those of Spring Data Redis where they name no server. */
public final class RedisSettings {
    /** The port where none is named. */
    public static final String PORT = "6379";

    private static final String URL = "holdfast.store.redis.url";
    private static final String SPRING = "spring.data.redis.";
    private static final String SENTINEL = SPRING + "sentinel.";
    private static final String PLAIN = "redis://";
    private static final String SECURE = "rediss://";

    private RedisSettings() {}

    /**
     * The builder of the store in Redis.
     *
     * @param connection what a bean of Spring Data Redis comes to, where there is one: it says more than the environment
     * @throws InvalidPropertyException if a property is out of its range
     */
    public static RedisStoreBuilder redis(
            HoldfastProperties.Redis from, Environment environment, Supplier<Optional<RedisStoreBuilder>> connection) {
        String url = from.url();
        RedisStoreBuilder store =
                url == null ? connection.get().orElseGet(() -> ofProperties(environment)) : builder(URL, url);
        turn("holdfast.store.redis.prefix", from.prefix(), store::prefix);
        Knob.owner(environment, store::belongsTo);
        if (from.takeOver()) {
            store.takeOver();
        }
        return turn("holdfast.store.redis.timeout", from.timeout(), store::timeout);
    }

    /**
     * The builder for an address that Spring Data Redis has.
     *
     * @throws InvalidPropertyException if the address cannot be one of Redis
     */
    public static RedisStoreBuilder at(String address) {
        return builder(SPRING + "host", address);
    }

    /** Whether {@code spring.data.redis.url} asks for TLS, which the connection that Spring Boot makes of it does not tell. */
    public static boolean secureUrl(Environment environment) {
        return environment.getProperty(SPRING + "url", "").startsWith(SECURE);
    }

    /** For a URL: an IPv6 address in brackets. */
    public static String hostAndPort(String host, String port) {
        return (host.contains(":") && !host.startsWith("[") ? "[" + host + "]" : host) + ":" + port;
    }

    /** Tells a builder who this is, where there is a password: its user, or Redis' user {@code default}. Empty is none. */
    public static void as(@Nullable String user, @Nullable String password, BiConsumer<String, char[]> builder) {
        if (password != null && StringUtils.hasText(password)) {
            builder.accept(user != null && StringUtils.hasText(user) ? user : "default", password.toCharArray());
        }
    }

    /** Servers of which nobody says which one is the master. */
    public static InvalidPropertyException noMaster(String replicas) {
        return new InvalidPropertyException(
                SPRING + "masterreplica.nodes", replicas, "does not say which one is the master: set " + URL);
    }

    /** The value may hold a password: only the reason, which holds none, is told. */
    private static RedisStoreBuilder builder(String property, String url) {
        try {
            return RedisStore.builder(url);
        } catch (IllegalArgumentException refused) {
            throw new InvalidPropertyException(property, "(hidden)", String.valueOf(refused.getMessage()));
        }
    }

    private static RedisStoreBuilder ofProperties(Environment environment) {
        String replicas = nodes(environment, "masterreplica.nodes");
        if (!replicas.isEmpty()) {
            throw noMaster(replicas);
        }
        String url = environment.getProperty(SPRING + "url");
        if (url != null) {
            boolean plain = url.startsWith(PLAIN) && secure(environment);
            return builder(SPRING + "url", plain ? SECURE + url.substring(PLAIN.length()) : url);
        }
        RedisStoreBuilder store = at(address(environment));
        as(
                environment.getProperty(SPRING + "username"),
                environment.getProperty(SPRING + "password"),
                store::credentials);
        if (environment.containsProperty(SENTINEL + "master")) {
            as(
                    environment.getProperty(SENTINEL + "username"),
                    environment.getProperty(SENTINEL + "password"),
                    store::sentinelCredentials);
        }
        return store;
    }

    private static String address(Environment environment) {
        String scheme = secure(environment) ? "rediss" : "redis";
        String database = "/" + environment.getProperty(SPRING + "database", "0");
        String master = environment.getProperty(SENTINEL + "master");
        if (master != null) {
            return scheme + "-sentinel://" + nodes(environment, "sentinel.nodes") + database + "#" + master;
        }
        String cluster = nodes(environment, "cluster.nodes");
        if (!cluster.isEmpty()) {
            return scheme + "-cluster://" + cluster;
        }
        String host = environment.getProperty(SPRING + "host", "localhost");
        String port = environment.getProperty(SPRING + "port", "").strip();
        return scheme + "://" + hostAndPort(host, port.isEmpty() ? PORT : port) + database;
    }

    /** As Spring Boot sees it: a bundle means TLS, unless that is said to be off. */
    private static boolean secure(Environment environment) {
        boolean bundle = environment.getProperty(SPRING + "ssl.bundle") != null;
        return environment.getProperty(SPRING + "ssl.enabled", Boolean.class, bundle);
    }

    private static String nodes(Environment environment, String name) {
        List<String> nodes = Binder.get(environment)
                .bind(SPRING + name, Bindable.listOf(String.class))
                .orElse(List.of());
        return String.join(",", nodes);
    }
}
