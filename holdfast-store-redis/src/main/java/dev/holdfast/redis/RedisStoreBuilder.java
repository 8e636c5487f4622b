package dev.holdfast.redis;

import io.lettuce.core.SslOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;

/** Every knob of a {@link RedisStore}. */
public final class RedisStoreBuilder {
    private static final long LARGEST_TRUST_BYTES = 4 << 20;

    private final Address address;
    private final SslOptions.Builder tls = SslOptions.builder();

    String prefix = "holdfast:";
    private Optional<PrefixOwner> owner = Optional.empty();
    private boolean takesOver;
    private Duration timeout = Duration.ofSeconds(2);
    private int mostWaiting = 65_536;
    /** For tests: the clock that sessions expire and leases lapse by, in the place of that of Redis. */
    Optional<InstantSource> clock = Optional.empty();
    /** For tests: the clock of this machine. */
    InstantSource wall = InstantSource.system();

    RedisStoreBuilder(String url) {
        address = Address.parse(url);
    }

    RedisConnector.Settings connection() {
        return new RedisConnector.Settings(address.within(timeout), prefix, timeout, mostWaiting, tls.build());
    }

    /**
     * The user of Redis' access control lists, and the password; they replace those of the URL. A password alone is that of the user
     * {@code default}.
     *
     * @throws IllegalArgumentException if the user is empty
     */
    public RedisStoreBuilder credentials(String user, char[] password) {
        address.as(named(user), password.clone());
        return this;
    }

    private static String named(String user) {
        if (user.isEmpty()) {
            throw new IllegalArgumentException("user must not be empty: a password alone is that of the user default");
        }
        return user;
    }

    /**
     * User and password for the sentinels; those of {@link #credentials} or the URL are for Redis itself. Default: none, for sentinels
     * that ask for no password.
     *
     * @throws IllegalArgumentException if the address is not one of sentinels, or the user is empty
     */
    public RedisStoreBuilder sentinelCredentials(String user, char[] password) {
        address.toSentinelsAs(named(user), password.clone());
        return this;
    }

    /**
     * What the names of all keys and channels begin with, at most 100 characters without braces: two services that share a Redis need
     * different ones. Default {@code holdfast:}.
     */
    public RedisStoreBuilder prefix(String value) {
        if (value.length() > 100 || value.contains("{") || value.contains("}")) {
            throw new IllegalArgumentException("a prefix has at most 100 characters and no braces, got " + value);
        }
        prefix = value;
        return this;
    }

    /**
     * The service whose sessions are kept under the prefix, the same for each of its nodes. The prefix of another service is refused, at
     * the start and whenever this node begins a new lease; one that is nobody's becomes this service's. Default: none, and any prefix is
     * used.
     *
     * @param name for messages, on one line; it is written into Redis
     * @param words everything that identifies the service, in each of its versions; only a fingerprint of it is written, for it may hold
     *     secrets
     */
    public RedisStoreBuilder belongsTo(String name, List<String> words) {
        owner = Optional.of(PrefixOwner.of(name, words));
        return this;
    }

    /**
     * Lets this service use the prefix of another one, with the sessions under it. Nodes of the other one that run, or start again, go on
     * using it. Default: it is refused.
     */
    public RedisStoreBuilder takeOver() {
        takesOver = true;
        return this;
    }

    Optional<PrefixOwner> owner() {
        return takesOver ? owner.map(PrefixOwner::takingOver) : owner;
    }

    /**
     * How long Redis may take to answer, 50 ms to 1 minute: a command that takes longer fails, and a connection on which nothing comes for
     * so long is replaced. Also how long a connection may take to be ready. It must be shorter than the lease of a node. Default 2 s.
     */
    public RedisStoreBuilder timeout(Duration value) {
        if (value.compareTo(Duration.ofMillis(50)) < 0 || value.compareTo(Duration.ofMinutes(1)) > 0) {
            throw new IllegalArgumentException("timeout must be 50 ms to 1 minute, got " + value);
        }
        timeout = value;
        return this;
    }

    /** How many commands may wait for their answers, 100 to 10,000,000; the next one fails at once. Default 65,536. */
    public RedisStoreBuilder mostWaiting(int commands) {
        if (commands < 100 || commands > 10_000_000) {
            throw new IllegalArgumentException("mostWaiting must be 100 to 10,000,000, got " + commands);
        }
        mostWaiting = commands;
        return this;
    }

    /**
     * A file of at most 4 MiB in PEM with the certificates of authorities that may sign the server's. Default: what this JVM trusts.
     *
     * @throws IllegalArgumentException if it cannot be read, or is none
     */
    public RedisStoreBuilder trust(Path pem) {
        if (!Files.isReadable(pem) || !Files.isRegularFile(pem) || pem.toFile().length() > LARGEST_TRUST_BYTES) {
            throw new IllegalArgumentException("trust must be a file of at most 4 MiB that can be read, got " + pem);
        }
        tls.trustManager(pem.toFile());
        return this;
    }

    /** Decides which server certificates are trusted. Default: what this JVM trusts. */
    public RedisStoreBuilder trust(TrustManagerFactory managers) {
        tls.trustManager(Objects.requireNonNull(managers, "managers"));
        return this;
    }

    /** The certificate and key for servers that ask for one. Default: none. */
    public RedisStoreBuilder identity(KeyManagerFactory managers) {
        tls.keyManager(Objects.requireNonNull(managers, "managers"));
        return this;
    }

    /** The versions of TLS that may be spoken, such as {@code TLSv1.3}. Default: those of this JVM. */
    public RedisStoreBuilder tlsProtocols(List<String> names) {
        tls.protocols(names.toArray(String[]::new));
        return this;
    }

    /** The cipher suites that may be used, by the names of the JDK. Default: those of this JVM. */
    public RedisStoreBuilder tlsCiphers(List<String> names) {
        tls.cipherSuites(names.toArray(String[]::new));
        return this;
    }

    /**
     * Connects to Redis; blocks until that is done, two minutes at most for each step.
     *
     * @throws RedisStoreException where Redis cannot be reached, refuses the user, or is older than 6.2, where the prefix is another
     *     service's, or the thread is interrupted
     */
    public RedisStore open() {
        return new RedisStore(this);
    }
}
