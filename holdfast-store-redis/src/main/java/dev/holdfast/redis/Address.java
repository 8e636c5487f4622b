package dev.holdfast.redis;

import io.lettuce.core.RedisURI;
import io.lettuce.core.StaticCredentialsProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Where Redis is.
 *
 * @param seeds one address of a server, or of sentinels, or some of a cluster
 * @param cluster whether they are of a cluster
 * @param shown the address without user and password, for messages
 */
record Address(List<RedisURI> seeds, boolean cluster, String shown) {
    private static final String HOST = "(?:\\[[0-9a-fA-F:]+]|[^:,\\[\\]]+)(?::\\d{1,5})?";
    private static final Pattern HOSTS = Pattern.compile(HOST + "(?:," + HOST + ")*");
    private static final Pattern URL = Pattern.compile("([a-z+-]+)://(?:([^/?#]*)@)?([^@/?#]+)([/?#].*)?");
    private static final List<String> SCHEMES =
            List.of("redis", "rediss", "redis-sentinel", "rediss-sentinel", "redis-cluster", "rediss-cluster");

    /** Reads a URL; the error about a bad one names no password. */
    static Address parse(String url) {
        Matcher parts = URL.matcher(url);
        if (!parts.matches()
                || !SCHEMES.contains(parts.group(1))
                || !HOSTS.matcher(parts.group(3)).matches()) {
            throw new IllegalArgumentException(
                    "the address of Redis must be like redis://host:6379 with one of the schemes "
                            + String.join(", ", SCHEMES));
        }
        String scheme = parts.group(1);
        String user = parts.group(2) == null ? "" : parts.group(2) + "@";
        String hosts = parts.group(3);
        String rest = parts.group(4) == null ? "" : parts.group(4);
        if (user.indexOf('@') != user.lastIndexOf('@')
                || rest.replaceFirst("\\?.*", "").contains("@")) {
            throw new IllegalArgumentException("a user and a password in the address of Redis must be percent-encoded:"
                    + " @ as %40, / as %2F, ? as %3F, # as %23");
        }
        String shown = scheme + "://" + hosts + rest.replaceFirst("\\?.*", "");
        boolean cluster = scheme.endsWith("-cluster");
        List<String> urls = cluster
                ? Arrays.stream(hosts.split(","))
                        .map(host -> scheme.replace("-cluster", "") + "://" + user + host + rest)
                        .collect(Collectors.toList())
                : List.of(url);
        List<RedisURI> seeds = new ArrayList<>();
        for (String one : urls) {
            try {
                seeds.add(RedisURI.create(one));
            } catch (IllegalArgumentException e) {
                // the message of Lettuce may repeat the whole URL
                throw new IllegalArgumentException("the address of Redis cannot be read: " + shown);
            }
        }
        if (cluster && seeds.stream().anyMatch(seed -> seed.getDatabase() != 0)) {
            throw new IllegalArgumentException(
                    "a Redis Cluster has database 0 only: leave the database out of " + shown);
        }
        return new Address(List.copyOf(seeds), cluster, shown);
    }

    /** Sets how long a connection may take to be ready. */
    Address within(Duration timeout) {
        seeds.forEach(seed -> {
            seed.setTimeout(timeout);
            seed.getSentinels().forEach(sentinel -> sentinel.setTimeout(timeout));
        });
        return this;
    }

    Address as(String user, char[] password) {
        seeds.forEach(seed -> seed.setCredentialsProvider(new StaticCredentialsProvider(user, password)));
        return this;
    }

    /** Sets user and password for the sentinels. */
    Address toSentinelsAs(String user, char[] password) {
        List<RedisURI> sentinels =
                seeds.stream().flatMap(seed -> seed.getSentinels().stream()).toList();
        if (sentinels.isEmpty()) {
            throw new IllegalArgumentException(
                    shown
                            + " names no sentinels: their credentials need an address like redis-sentinel://host:26379/0#master");
        }
        sentinels.forEach(sentinel -> sentinel.setCredentialsProvider(new StaticCredentialsProvider(user, password)));
        return this;
    }
}
