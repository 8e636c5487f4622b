package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.NoStore;
import dev.holdfast.gateway.http.OpenToOthers;
import dev.holdfast.gateway.http.StoreHealth;
import dev.holdfast.gateway.process.DaemonThreads;
import dev.holdfast.gateway.text.Durations;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import dev.holdfast.redis.RedisStore;
import dev.holdfast.redis.RedisStoreBuilder;
import dev.holdfast.redis.RedisStoreException;
import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.rocksdb.RocksDbStoreBuilder;
import dev.holdfast.rocksdb.RocksDbStoreException;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Durability;
import java.net.InetAddress;
import java.net.URLDecoder;
import java.net.UnknownHostException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The store that the command line asks for. */
sealed interface StoreChoice {
    /** What RocksDB takes outside of the heap, where it has one folder; each of many takes a part of it. */
    long MEMORY = 64 << 20;

    int FOLDERS = 4;

    /**
     * Opens the store for the sessions of a server.
     *
     * @throws GatewayException if it cannot be opened here
     */
    Open open(ServerChoice.Identity owner);

    /** This node among those that share the store. */
    default Node node() {
        return Node.ALONE;
    }

    /** The folder that is this gateway's alone, if there is one. */
    default Optional<Path> folder() {
        return Optional.empty();
    }

    /** Whether it can be opened while the other is open: a folder is for one at a time. */
    default boolean opensBeside(StoreChoice other) {
        return place().isEmpty() || !place().equals(other.place());
    }

    private Optional<Path> place() {
        return folder().map(folder -> folder.toAbsolutePath().normalize());
    }

    /**
     * A store in use.
     *
     * @param sessions where sessions are kept
     * @param health its health, now or a few seconds ago
     */
    record Open(SessionStore sessions, Supplier<StoreHealth> health) implements AutoCloseable {
        @Override
        public void close() {
            sessions.close();
        }
    }

    /**
     * A node among those that share a store.
     *
     * @param name for people who read logs
     * @param lease how long the others wait for it when it is silent
     */
    record Node(String name, Duration lease) {
        /** A node that has its store for itself. */
        static final Node ALONE = new Node("node", Duration.ofSeconds(3));
    }

    /**
     * What is asked for.
     *
     * @param server whose part of the store it is; empty for all of it
     * @throws IllegalArgumentException says what is wrong
     */
    static StoreChoice of(KnobValues settings, String server) {
        String store = settings.get(Knobs.STORE);
        if (store.matches("redis[a-z-]*://.*")) {
            settings.refuse(" needs a store on disk, and --store is redis", Knobs.STORE_SYNC);
            return Redis.of(store, settings, server);
        }
        boolean memory = store.equals("memory");
        String is = "://..., and --store is " + (memory ? "memory" : "on disk");
        settings.refuse(
                " needs --store redis" + is,
                Knobs.STORE_PASSWORD_FILE,
                Knobs.REDIS_PREFIX,
                Knobs.NODE_NAME,
                Knobs.LEASE);
        settings.refuse(" needs --store redis-sentinel" + is, Knobs.SENTINEL_PASSWORD_FILE);
        if (memory) {
            settings.refuse(" needs a store on disk, and --store is memory", Knobs.STORE_SYNC);
            settings.refuse(
                    " needs a store on disk or in Redis, and --store is memory",
                    Knobs.TAKE_OVER_STORE,
                    Knobs.PARK_AFTER);
            return new Memory();
        }
        String folder = store.startsWith("rocksdb:") ? store.substring("rocksdb:".length()) : "";
        require(
                !folder.isBlank(),
                "--store must be memory, rocksdb:DIR or redis://HOST:PORT, not "
                        + store.replaceFirst("(:/*).*@", "$1...@"));
        try {
            return new RocksDb(
                    Path.of(folder).resolve(server),
                    settings.get(Knobs.STORE_SYNC) ? Durability.POWER_LOSS : Durability.PROCESS_DEATH,
                    settings.get(Knobs.TAKE_OVER_STORE),
                    server.isEmpty() ? MEMORY : MEMORY / FOLDERS);
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException("--store names no folder: " + e.getMessage(), e);
        }
    }

    private static void require(boolean right, String why) {
        if (!right) {
            throw new IllegalArgumentException(why);
        }
    }

    /** Sessions end with the process. */
    record Memory() implements StoreChoice {
        @Override
        public Open open(ServerChoice.Identity owner) {
            NoStore none = new NoStore();
            StoreHealth health = new StoreHealth(
                    "memory", none.promise().durability(), OptionalLong.empty(), StoreHealth.State.WELL);
            return new Open(none, () -> health);
        }
    }

    /**
     * Sessions are on disk, in RocksDB.
     *
     * @param path the folder; made if it is not there
     * @param survives what messages survive
     * @param takesOver whether it may be the folder of another command
     * @param memory what it takes outside of the heap, in bytes
     */
    record RocksDb(Path path, Durability survives, boolean takesOver, long memory) implements StoreChoice {
        /** Looking at the disk takes system calls, and anybody may ask. */
        private static final Duration LOOK_EVERY = Duration.ofSeconds(3);
        /** How long the disk may take to answer before it counts as hanging. */
        private static final Duration LOOK_TIMEOUT = Duration.ofSeconds(10);

        RocksDb(Path path, Durability survives, boolean takesOver) {
            this(path, survives, takesOver, MEMORY);
        }

        @Override
        public Optional<Path> folder() {
            return Optional.of(path);
        }

        @Override
        public Open open(ServerChoice.Identity owner) {
            RocksDbStoreBuilder builder = RocksDbStore.builder(path)
                    .survives(survives)
                    .belongsTo(owner.name(), owner.words())
                    .memory(memory);
            if (takesOver) {
                builder.takeOver();
            }
            try {
                RocksDbStore store = builder.open();
                StoreHealth hangs = health(OptionalLong.empty(), StoreHealth.State.HANGS);
                return new Open(
                        store,
                        new TimedCache<>(
                                () -> look(store),
                                DaemonThreads.starting("holdfast-store-health"),
                                LOOK_EVERY,
                                LOOK_TIMEOUT,
                                hangs,
                                System::nanoTime));
            } catch (RocksDbStoreException e) {
                String takeOver = e.belongsToAnother() ? ", or take it over by --take-over-store" : "";
                String hint = e.concernsMachine() ? "" : "; choose another by --store" + takeOver;
                throw new GatewayException(e.getMessage() + hint, e);
            }
        }

        private StoreHealth health(OptionalLong bytes, StoreHealth.State state) {
            return new StoreHealth("rocksdb", survives, bytes, state);
        }

        private StoreHealth look(RocksDbStore store) {
            RocksDbStore.Usage usage = store.usage();
            StoreHealth.State state = usage.damage().isPresent() ? StoreHealth.State.DAMAGED : StoreHealth.State.WELL;
            state = usage.unread().isPresent() ? StoreHealth.State.CANNOT_READ : state;
            state = usage.trouble().isPresent() ? StoreHealth.State.CANNOT_WRITE : state;
            return health(OptionalLong.of(usage.bytes()), state);
        }
    }

    /**
     * Sessions are in Redis, which other nodes use too.
     *
     * @param store where, not open yet
     * @param node this node among those that share it
     * @param waits whether a start waits for it; one of a server among others is tried again, and holds up none of them
     * @param password its password, unless that is in the address
     * @param sentinelPassword the password of its sentinels, if they have one
     */
    record Redis(
            RedisStoreBuilder store,
            Node node,
            boolean waits,
            Optional<PasswordFile> password,
            Optional<PasswordFile> sentinelPassword)
            implements StoreChoice {
        private static final Logger log = LoggerFactory.getLogger(StoreChoice.class);
        private static final Pattern USER = Pattern.compile("[a-z-]+://([^@/?#]+)@");
        private static final String DEFAULT_USER = "default";
        /** How long Redis may take to answer. A node whose lease is not longer loses it by one answer that is late. */
        private static final Duration TIMEOUT = Duration.ofSeconds(2);
        /** How long it may take to come up, where it is there, and where nothing is: that may be a wrong address. */
        private static final Duration STARTS = Duration.ofMinutes(1);

        private static final Duration LISTENS = Duration.ofSeconds(10);
        private static final Duration PAUSE = Duration.ofMillis(500);

        Redis(RedisStoreBuilder store, Node node) {
            this(store, node, true, Optional.empty(), Optional.empty());
        }

        private static Redis of(String url, KnobValues settings, String server) {
            RedisStoreBuilder builder =
                    named(Knobs.STORE, () -> RedisStore.builder(url).timeout(TIMEOUT));
            named(
                    Knobs.REDIS_PREFIX,
                    () -> builder.prefix(settings.get(Knobs.REDIS_PREFIX) + (server.isEmpty() ? "" : server + ":")));
            if (settings.get(Knobs.TAKE_OVER_STORE)) {
                builder.takeOver();
            }
            Duration lease = settings.get(Knobs.LEASE);
            require(
                    lease.compareTo(TIMEOUT) > 0,
                    "--lease must be longer than the " + Durations.text(TIMEOUT)
                            + " that Redis may take to answer, not " + Durations.text(lease));
            Node node = new Node(settings.find(Knobs.NODE_NAME).orElseGet(Redis::hostName), lease);
            // that of the user whom the address names, or of Redis' default one
            Matcher named = USER.matcher(url);
            String user = named.lookingAt() ? named.group(1) : DEFAULT_USER;
            require(
                    !user.contains(":") || !settings.isGiven(Knobs.STORE_PASSWORD_FILE),
                    "--store-password-file takes the place of the password in --store: give one of them");
            require(
                    url.matches("rediss?-sentinel://.*") || !settings.isGiven(Knobs.SENTINEL_PASSWORD_FILE),
                    "--sentinel-password-file needs --store redis-sentinel://..., and --store is "
                            + url.replaceFirst("://.*", "://..."));
            return new Redis(
                    builder,
                    node,
                    server.isEmpty(),
                    password(Knobs.STORE_PASSWORD_FILE, settings, URLDecoder.decode(user.replace("+", "%2B"), UTF_8)),
                    password(Knobs.SENTINEL_PASSWORD_FILE, settings, DEFAULT_USER));
        }

        private static <V> V named(Knob<?> knob, Supplier<V> method) {
            try {
                return method.get();
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(knob.name() + ": " + e.getMessage(), e);
            }
        }

        private static Optional<PasswordFile> password(Knob<Path> knob, KnobValues settings, String user) {
            return settings.find(knob).map(path -> new PasswordFile(new OptionFile(knob.name(), path), user));
        }

        private static String hostName() {
            try {
                String name = InetAddress.getLocalHost().getHostName();
                return Knobs.isNodeName(name) ? name : Node.ALONE.name();
            } catch (UnknownHostException e) {
                return Node.ALONE.name();
            }
        }

        @Override
        public Open open(ServerChoice.Identity owner) {
            password.ifPresent(file -> file.give(store::credentials));
            sentinelPassword.ifPresent(file -> file.give(store::sentinelCredentials));
            try {
                RedisStoreBuilder own = store.belongsTo(owner.name(), owner.words());
                RedisStore open = waits ? awaited(own) : own.open();
                Durability survives = open.promise().durability();
                return new Open(open, () -> new StoreHealth("redis", survives, OptionalLong.empty(), state(open)));
            } catch (RedisStoreException e) {
                String hint = e.belongsToAnother()
                        ? "another prefix by --redis-prefix, or take it over by --take-over-store"
                        : "another by --store";
                throw new GatewayException(e.getMessage() + "; choose " + hint, e);
            }
        }

        /** Redis may start at the same time: a gateway that ended by that would have to be started again by somebody. */
        private static RedisStore awaited(RedisStoreBuilder store) {
            long began = System.nanoTime();
            boolean told = false;
            while (true) {
                try {
                    return store.open();
                } catch (RedisStoreException e) {
                    Duration patience = e.isStarting() ? STARTS : e.isUnreachable() ? LISTENS : Duration.ZERO;
                    if (System.nanoTime() - began >= patience.toNanos()
                            || Thread.currentThread().isInterrupted()) {
                        throw e;
                    }
                    if (!told) {
                        log.warn("{}: waiting up to {} for it", e.getMessage(), Durations.text(patience));
                        told = true;
                    }
                }
                LockSupport.parkNanos(PAUSE.toNanos());
            }
        }

        private static StoreHealth.State state(RedisStore store) {
            if (store.refusal().isPresent()) {
                return StoreHealth.State.CANNOT_WRITE;
            }
            return store.trouble().isPresent() ? StoreHealth.State.HANGS : StoreHealth.State.WELL;
        }
    }

    /**
     * A password for Redis in a file: everybody on the machine can read a command line.
     *
     * @param file its first line is the password
     * @param user whose it is
     */
    record PasswordFile(OptionFile file, String user) {
        /**
         * Gives user and password to a store that is not open yet.
         *
         * @throws GatewayException if the file cannot be read, or has none
         */
        void give(BiConsumer<String, char[]> store) {
            String password = file.text(file.content()).lines().findFirst().orElse("");
            if (password.isBlank()) {
                throw file.fault("the first line must be the password, and is empty");
            }
            OpenToOthers.complain(file.path());
            store.accept(user, password.toCharArray());
        }
    }
}
