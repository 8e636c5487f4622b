package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.gateway.text.OptionFile;
import dev.holdfast.redis.RedisStore;
import dev.holdfast.redis.RedisStoreBuilder;
import dev.holdfast.spi.SessionStore.Durability;
import java.net.InetAddress;
import java.net.URLDecoder;
import java.net.UnknownHostException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of {@code holdfast serve} that say where sessions are kept. */
final class StoreFlags {
    private static final String MEMORY = "memory";
    private static final String ROCKSDB = "rocksdb:";
    private static final Pattern USER = Pattern.compile("[a-z-]+://([^@/?#]+)@");
    private static final String DEFAULT_USER = "default";
    private static final String NODE_NAME = "[A-Za-z0-9._-]{1,64}";

    @Option(
            names = "--store",
            paramLabel = "STORE",
            defaultValue = "rocksdb:./holdfast-data",
            description = {
                "where sessions are kept: rocksdb:DIR is a folder that one gateway at a time has open, redis://HOST:PORT is"
                        + " shared by many (also rediss, redis-sentinel, redis-cluster), memory ends with the process",
                "(default: ${DEFAULT-VALUE})"
            })
    private String store = "";

    @Option(
            names = "--store-sync",
            description = "what is kept on disk survives a power loss too; each message waits for the disk")
    private boolean sync;

    @Option(
            names = "--take-over-store",
            description = "serve the sessions in the folder, or under the prefix in Redis, of --store though another"
                    + " COMMAND, or one with other arguments, has kept them there")
    private boolean takeOver;

    @Option(
            names = "--store-password-file",
            paramLabel = "FILE",
            description = "a file whose first line is the password for --store redis://...: one in the URL is read by"
                    + " everybody who can list the processes of this machine")
    private @Nullable Path passwordFile;

    @Option(
            names = "--sentinel-password-file",
            paramLabel = "FILE",
            description = "a file whose first line is the password of the sentinels of --store redis-sentinel://...,"
                    + " where they have one")
    private @Nullable Path sentinelPasswordFile;

    @Option(
            names = "--redis-prefix",
            paramLabel = "TEXT",
            description =
                    "what the names of all keys in Redis begin with: gateways of the same COMMAND share one, others need"
                            + " another (default: holdfast:)")
    private @Nullable String redisPrefix;

    @Option(
            names = "--node-name",
            paramLabel = "NAME",
            description = "the name of this gateway among those that share --store redis://..., for those who read logs"
                    + " (default: the name of the host)")
    private @Nullable String nodeName;

    @Option(
            names = "--lease",
            paramLabel = "TIME",
            converter = ServeFlags.Time.class,
            description =
                    "how long the others that share --store redis://... wait for a silent gateway before they end what"
                            + " it ran (default: 3s)")
    private @Nullable Duration lease;

    @Option(
            names = "--park-after",
            paramLabel = "TIME",
            defaultValue = "10m",
            converter = ServeFlags.Time.class,
            description =
                    "when a session whose connection broke leaves memory, and its process of COMMAND ends; another"
                            + " is started when its client comes back (default: ${DEFAULT-VALUE})")
    private Duration parkAfter = Duration.ZERO;

    /**
     * When a session is parked.
     *
     * @throws IllegalArgumentException if that is out of its range
     */
    Duration parkAfter() {
        return ServeFlags.range("--park-after", parkAfter, Duration.ofSeconds(10), ServeFlags.YEAR);
    }

    /**
     * What they say, checked.
     *
     * @throws IllegalArgumentException names what is wrong
     */
    StoreChoice choice() {
        if (store.equals(MEMORY)) {
            refuseSync("memory");
            refuse(takeOver, "--take-over-store needs a store on disk or in Redis, and --store is memory");
            refuseShared("memory");
            return new StoreChoice.Memory();
        }
        if (store.matches("redis[a-z-]*://.*")) {
            refuseSync("redis");
            return redis();
        }
        refuseShared("on disk");
        String folder = store.startsWith(ROCKSDB) ? store.substring(ROCKSDB.length()) : "";
        if (folder.isBlank()) {
            throw new IllegalArgumentException("--store must be memory, rocksdb:DIR or redis://HOST:PORT, not "
                    + store.replaceFirst("(:/*).*@", "$1...@"));
        }
        return new StoreChoice.RocksDb(path(folder), sync ? Durability.POWER_LOSS : Durability.PROCESS_DEATH, takeOver);
    }

    private void refuseSync(String kind) {
        refuse(sync, "--store-sync needs a store on disk, and --store is " + kind);
    }

    private void refuseShared(String kind) {
        refuse(passwordFile != null, "--store-password-file needs --store redis://..., and --store is " + kind);
        refuse(
                sentinelPasswordFile != null,
                "--sentinel-password-file needs --store redis-sentinel://..., and --store is " + kind);
        refuse(redisPrefix != null, "--redis-prefix needs --store redis://..., and --store is " + kind);
        refuse(nodeName != null, "--node-name needs --store redis://..., and --store is " + kind);
        refuse(lease != null, "--lease needs --store redis://..., and --store is " + kind);
    }

    private static void refuse(boolean given, String why) {
        if (given) {
            throw new IllegalArgumentException(why);
        }
    }

    private StoreChoice redis() {
        RedisStoreBuilder builder;
        try {
            builder = RedisStore.builder(store);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("--store: " + e.getMessage(), e);
        }
        if (redisPrefix != null) {
            try {
                builder.prefix(redisPrefix);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException("--redis-prefix: " + e.getMessage(), e);
            }
        }
        if (takeOver) {
            builder.takeOver();
        }
        Duration waits = lease == null ? StoreChoice.Node.ALONE.lease() : lease;
        ServeFlags.range("--lease", waits, Duration.ofMillis(500), Duration.ofMinutes(5));
        String name = nodeName == null ? hostName() : nodeName;
        if (!name.matches(NODE_NAME)) {
            throw new IllegalArgumentException(
                    "--node-name must be 1 to 64 letters, digits, dots, dashes and underscores, not " + name);
        }
        return new StoreChoice.Redis(builder, new StoreChoice.Node(name, waits), password(), sentinelPassword());
    }

    /** The password of the user that the address names, or of Redis' default one. */
    private Optional<PasswordFile> password() {
        if (passwordFile == null) {
            return Optional.empty();
        }
        Matcher named = USER.matcher(store);
        String user = named.lookingAt() ? named.group(1) : DEFAULT_USER;
        refuse(
                user.contains(":"),
                "--store-password-file takes the place of the password in --store: give one of them");
        return Optional.of(new PasswordFile(
                new OptionFile("--store-password-file", passwordFile),
                URLDecoder.decode(user.replace("+", "%2B"), UTF_8)));
    }

    private Optional<PasswordFile> sentinelPassword() {
        if (sentinelPasswordFile == null) {
            return Optional.empty();
        }
        refuse(
                !store.matches("rediss?-sentinel://.*"),
                "--sentinel-password-file needs --store redis-sentinel://..., and --store is "
                        + store.replaceFirst("://.*", "://..."));
        return Optional.of(
                new PasswordFile(new OptionFile("--sentinel-password-file", sentinelPasswordFile), DEFAULT_USER));
    }

    private static String hostName() {
        try {
            String name = InetAddress.getLocalHost().getHostName();
            return name.matches(NODE_NAME) ? name : StoreChoice.Node.ALONE.name();
        } catch (UnknownHostException e) {
            return StoreChoice.Node.ALONE.name();
        }
    }

    private static Path path(String folder) {
        try {
            return Path.of(folder);
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException("--store names no folder: " + e.getMessage(), e);
        }
    }
}
