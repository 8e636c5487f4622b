package dev.holdfast.redis;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SocketOptions.KeepAliveOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandHandler;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.protocol.RedisCommand;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.handler.flush.FlushConsolidationHandler;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects to one server, to the master that sentinels name, or to a cluster, by Lettuce. What is on its way when a connection breaks
 * fails, and is never sent again by itself: it may have been done. Connections come back by themselves within half a second after
 * Redis is there again.
 */
final class RedisConnector implements AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(RedisConnector.class);

    /** How long an inbox waits for a message in one command. */
    static final Duration LONGEST_WAIT = Duration.ofSeconds(5);

    private static final Duration MOST_RECONNECT_DELAY = Duration.ofMillis(500);
    private static final Duration TOPOLOGY_REFRESH = Duration.ofSeconds(15);
    private static final Duration LEAST_BETWEEN_REFRESHES = Duration.ofSeconds(1);
    private static final int MOST_WARM_UP_ATTEMPTS = 20;
    private static final long WARM_UP_PAUSE_MILLIS = 10;
    private static final int SHUTDOWN_SECONDS = 2;
    private static final int THREADS = 2;

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(work -> {
        Thread thread = new Thread(work, "holdfast-redis-timer");
        thread.setDaemon(true);
        return thread;
    });
    final Settings settings;
    private final ClientResources resources;
    private final AbstractRedisClient client;
    private final Supplier<CompletionStage<Commands>> connect;
    private final Supplier<CompletionStage<StatefulRedisPubSubConnection<byte[], byte[]>>> connectPubSub;

    /**
     * How Redis is reached.
     *
     * @param address where it is, and as whom
     * @param prefix what the name of each key begins with
     * @param timeout how long it may take to answer
     * @param mostWaiting how many commands may wait for their answers
     * @param tls how TLS is spoken, if the address asks for it
     */
    record Settings(Address address, String prefix, Duration timeout, int mostWaiting, SslOptions tls) {}

    /**
     * A connection.
     *
     * @param connection to close it
     * @param async its commands
     */
    record Commands(StatefulConnection<byte[], byte[]> connection, RedisClusterAsyncCommands<byte[], byte[]> async) {}

    RedisConnector(Settings settings) {
        this.settings = settings;
        CommandTimeouts timeouts = new CommandTimeouts(settings.timeout());
        resources = ClientResources.builder()
                .ioThreadPoolSize(THREADS)
                .computationThreadPoolSize(THREADS)
                .nettyCustomizer(new Handlers(timeouts))
                .reconnectDelay(() -> Delay.exponential(Duration.ZERO, MOST_RECONNECT_DELAY, 2, TimeUnit.MILLISECONDS))
                .build();
        Address address = settings.address();
        ByteArrayCodec codec = ByteArrayCodec.INSTANCE;
        if (address.cluster()) {
            RedisClusterClient cluster = RedisClusterClient.create(resources, address.seeds());
            cluster.setOptions(ClusterClientOptions.builder(options(timeouts))
                    .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                            .enablePeriodicRefresh(TOPOLOGY_REFRESH)
                            .adaptiveRefreshTriggersTimeout(LEAST_BETWEEN_REFRESHES)
                            .build())
                    .build());
            client = cluster;
            connect = () -> cluster.refreshPartitionsAsync()
                    .thenCompose(known -> cluster.connectAsync(codec))
                    .thenCompose(made -> warmUp(cluster, new Commands(made, made.async())));
            connectPubSub = () -> cluster.refreshPartitionsAsync()
                    .thenCompose(known -> cluster.connectPubSubAsync(codec))
                    .thenApply(made -> made);
        } else {
            RedisClient single = RedisClient.create(resources);
            single.setOptions(options(timeouts));
            client = single;
            connect = () -> single.connectAsync(codec, address.seeds().get(0))
                    .thenApply(made -> new Commands(made, made.async()));
            connectPubSub =
                    () -> single.connectPubSubAsync(codec, address.seeds().get(0));
        }
    }

    private ClientOptions options(CommandTimeouts timeouts) {
        ClientOptions.Builder options = ClientOptions.builder();
        KeepAliveOptions keepAlive = KeepAliveOptions.builder()
                .enable()
                .idle(Duration.ofSeconds(5))
                .interval(Duration.ofSeconds(2))
                .count(3)
                .build();
        try {
            Maintenance.unasked(options);
        } catch (NoClassDefFoundError older) {
            logger.debug("this Lettuce asks for no notices of maintenance", older);
        }
        return options.protocolVersion(ProtocolVersion.RESP2)
                .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
                .requestQueueSize(settings.mostWaiting())
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(settings.timeout())
                        .keepAlive(keepAlive)
                        .build())
                .timeoutOptions(TimeoutOptions.builder().timeoutSource(timeouts).build())
                .sslOptions(settings.tls())
                .build();
    }

    /** Lettuce 7 asks each server for notices of its maintenance by default; Lettuce 6, which Spring Boot 3 brings, lacks these types. */
    private static final class Maintenance {
        private static void unasked(ClientOptions.Builder options) {
            options.maintNotificationsConfig(MaintNotificationsConfig.disabled());
        }
    }

    /** Makes a connection for commands; the stage fails if that takes too long. Never throws. */
    CompletionStage<Commands> connect() {
        return begun(connect);
    }

    /** Makes a connection that hears of messages; the stage fails if that takes too long. Never throws. */
    CompletionStage<StatefulRedisPubSubConnection<byte[], byte[]>> connectPubSub() {
        return begun(connectPubSub);
    }

    /** An exception becomes a failure, after which callers try again. */
    private static <T> CompletionStage<T> begun(Supplier<CompletionStage<T>> connect) {
        try {
            return connect.get();
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /**
     * Asks each master for a key before a connection counts as ready: Lettuce connects to a master when the first command goes there,
     * and rejects that command. A master that cannot be reached is left out after a while.
     */
    private CompletionStage<Commands> warmUp(RedisClusterClient cluster, Commands commands) {
        CompletableFuture<?>[] answers = cluster.getPartitions().stream()
                .filter(node -> !node.getSlots().isEmpty())
                .map(node -> ask(commands, keyOn(node), 1, new CompletableFuture<>()))
                .toArray(CompletableFuture<?>[]::new);
        return CompletableFuture.allOf(answers).thenApply(all -> commands);
    }

    private byte[] keyOn(RedisClusterNode node) {
        return IntStream.iterate(0, i -> i + 1)
                .mapToObj(i -> RedisCodec.text(settings.prefix() + i))
                .filter(key -> node.hasSlot(SlotHash.getSlot(key)))
                .findFirst()
                .orElseThrow();
    }

    private CompletableFuture<Commands> ask(
            Commands commands, byte[] key, int attempt, CompletableFuture<Commands> answered) {
        commands.async().exists(key).whenComplete((count, failure) -> {
            if (failure == null || attempt == MOST_WARM_UP_ATTEMPTS) {
                answered.complete(commands);
            } else {
                timer.schedule(
                        () -> ask(commands, key, attempt + 1, answered), WARM_UP_PAUSE_MILLIS, TimeUnit.MILLISECONDS);
            }
        });
        return answered;
    }

    /** Runs what is due later, for a short time each. */
    ScheduledExecutorService timer() {
        return timer;
    }

    @Override
    public void close() {
        try {
            // to its end, though the thread may be interrupted
            client.shutdownAsync(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS).join();
        } catch (CompletionException e) {
            logger.warn(
                    "the connections to {} may stay open", settings.address().shown(), e.getCause());
        } finally {
            Future<?> unused = resources.shutdown(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS);
            timer.shutdownNow();
        }
    }

    /** How long Redis has for a command: the same time for each, but for the one that waits for messages. */
    private static final class CommandTimeouts extends TimeoutOptions.TimeoutSource {
        private final long millis;

        private CommandTimeouts(Duration timeout) {
            millis = timeout.toMillis();
        }

        @Override
        public long getTimeout(RedisCommand<?, ?, ?> command) {
            return command.getType() == CommandType.XREAD ? millis + LONGEST_WAIT.toMillis() : millis;
        }

        @Override
        public TimeUnit getTimeUnit() {
            return TimeUnit.MILLISECONDS;
        }

        /** The time of what is written at once: a command, or several that go together and have the same. */
        private long nanosFor(Object message) {
            return TimeUnit.MILLISECONDS.toNanos(
                    message instanceof RedisCommand<?, ?, ?> command ? getTimeout(command) : millis);
        }
    }

    /**
     * What each connection has beside Lettuce's own handlers: commands of many threads are written by one system call, and Redis reads
     * them at once; and a connection that carries nothing any more is closed.
     */
    private record Handlers(CommandTimeouts timeouts) implements NettyCustomizer {
        private static final int MOST_TOGETHER = 256;

        @Override
        public void afterChannelInitialized(Channel channel) {
            ChannelPipeline pipeline = channel.pipeline();
            pipeline.addFirst(new FlushConsolidationHandler(MOST_TOGETHER, true));
            ChannelHandlerContext commands = pipeline.context(CommandHandler.class);
            pipeline.addBefore(commands.name(), null, new SilenceWatchdog(timeouts));
        }
    }

    /**
     * Closes a connection on which nothing comes though Redis was asked something, and Lettuce makes another one. A cluster has a
     * connection to each master: one of them may carry nothing any more while others do.
     */
    private static final class SilenceWatchdog extends ChannelDuplexHandler {
        /** What came while this machine stood still is read before the second look. */
        private static final long SECOND_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

        private final CommandTimeouts timeouts;
        private boolean watching;
        private long silentSince;
        private long timeout;
        /** Whether an answer is awaited. */
        private boolean asked;

        private boolean lookedOnce;

        private SilenceWatchdog(CommandTimeouts timeouts) {
            this.timeouts = timeouts;
        }

        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
            if (!asked) {
                asked = true;
                lookedOnce = false;
                silentSince = System.nanoTime();
                timeout = 0;
            }
            timeout = Math.max(timeout, timeouts.nanosFor(message));
            if (!watching) {
                look(context, timeout);
            }
            context.write(message, promise);
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            asked = false;
            context.fireChannelRead(message);
        }

        private void look(ChannelHandlerContext context, long nanos) {
            watching = true;
            Future<?> unused = context.executor().schedule(() -> looked(context), nanos, TimeUnit.NANOSECONDS);
        }

        private void looked(ChannelHandlerContext context) {
            watching = false;
            if (!asked || !context.channel().isActive()) {
                return;
            }
            long left = timeout - (System.nanoTime() - silentSince);
            if (left > 0) {
                look(context, left);
            } else if (!lookedOnce) {
                lookedOnce = true;
                look(context, SECOND_LOOK_NANOS);
            } else {
                logger.debug("nothing comes over the connection {}: it is closed", context.channel());
                context.close();
            }
        }
    }
}
