package dev.holdfast.redis;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SocketOptions.KeepAliveOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandHandler;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.flush.FlushConsolidationHandler;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connections by Lettuce. What is on its way when a connection breaks fails, and is never sent again by itself: it may have been
 * done. Connections come back by themselves within half a second after Redis is there again.
 */
final class LettuceConnector implements Connector {
    private static final Logger logger = LoggerFactory.getLogger(LettuceConnector.class);

    /** How long an inbox waits for a message in one command. */
    static final Duration LONGEST_WAIT = Duration.ofSeconds(5);

    private static final Duration LONGEST_PAUSE = Duration.ofMillis(500);
    private static final Duration TOPOLOGY_REFRESH = Duration.ofSeconds(15);
    private static final Duration LEAST_BETWEEN_REFRESHES = Duration.ofSeconds(1);
    private static final int LONGEST_FAREWELL_SECONDS = 2;
    private static final int THREADS = 2;

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(work -> {
        Thread thread = new Thread(work, "holdfast-redis-timer");
        thread.setDaemon(true);
        return thread;
    });
    private final ClientResources resources;
    private final AbstractRedisClient client;
    private final Function<ByteArrayCodec, CompletionStage<Commands>> connect;
    private final Function<ByteArrayCodec, CompletionStage<? extends StatefulRedisPubSubConnection<byte[], byte[]>>>
            connectPubSub;

    LettuceConnector(ConnectionSettings settings) {
        Timeouts timeouts = new Timeouts(settings.timeout());
        resources = ClientResources.builder()
                .ioThreadPoolSize(THREADS)
                .computationThreadPoolSize(THREADS)
                .nettyCustomizer(new Handlers(timeouts))
                .reconnectDelay(() -> Delay.exponential(Duration.ZERO, LONGEST_PAUSE, 2, TimeUnit.MILLISECONDS))
                .build();
        Address address = settings.address();
        if (address.cluster()) {
            RedisClusterClient cluster = RedisClusterClient.create(resources, address.seeds());
            ClusterClientOptions.Builder options = ClusterClientOptions.builder(
                            common(ClientOptions.builder(), settings, timeouts))
                    .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                            .enablePeriodicRefresh(TOPOLOGY_REFRESH)
                            .adaptiveRefreshTriggersTimeout(LEAST_BETWEEN_REFRESHES)
                            .build());
            cluster.setOptions(options.build());
            client = cluster;
            ClusterWarmUp warmUp = new ClusterWarmUp(settings.prefix(), timer);
            connect = codec -> cluster.refreshPartitionsAsync()
                    .thenCompose(known -> cluster.connectAsync(codec))
                    .thenCompose(connection ->
                            warmUp.warm(new Commands(connection, connection.async()), cluster.getPartitions()));
            connectPubSub =
                    codec -> cluster.refreshPartitionsAsync().thenCompose(known -> cluster.connectPubSubAsync(codec));
        } else {
            RedisClient single = RedisClient.create(resources);
            single.setOptions(common(ClientOptions.builder(), settings, timeouts));
            client = single;
            connect = codec -> single.connectAsync(codec, address.seeds().get(0))
                    .thenApply(connection -> new Commands(connection, connection.async()));
            connectPubSub =
                    codec -> single.connectPubSubAsync(codec, address.seeds().get(0));
        }
    }

    private static ClientOptions common(ClientOptions.Builder options, ConnectionSettings settings, Timeouts timeouts) {
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

    /**
     * What stands in each connection beside Lettuce's own: commands that many threads give at once are written by one system call,
     * and Redis reads them at once; and a connection that carries nothing any more is closed.
     */
    private static final class Handlers implements NettyCustomizer {
        private static final int MOST_TOGETHER = 256;

        private final Timeouts timeouts;

        private Handlers(Timeouts timeouts) {
            this.timeouts = timeouts;
        }

        @Override
        public void afterChannelInitialized(Channel channel) {
            ChannelPipeline pipeline = channel.pipeline();
            pipeline.addFirst(new FlushConsolidationHandler(MOST_TOGETHER, true));
            ChannelHandlerContext commands = pipeline.context(CommandHandler.class);
            pipeline.addBefore(commands.name(), null, new SilenceWatch(timeouts));
        }
    }

    @Override
    public CompletionStage<Commands> connect() {
        return connect.apply(ByteArrayCodec.INSTANCE);
    }

    @Override
    public CompletionStage<StatefulRedisPubSubConnection<byte[], byte[]>> connectPubSub() {
        return connectPubSub.apply(ByteArrayCodec.INSTANCE).thenApply(connection -> connection);
    }

    @Override
    public ScheduledExecutorService timer() {
        return timer;
    }

    @Override
    public void close() {
        try {
            // to its end, though the thread may be interrupted
            client.shutdownAsync(0, LONGEST_FAREWELL_SECONDS, TimeUnit.SECONDS).join();
        } catch (CompletionException e) {
            logger.warn("the connections to Redis are left behind", e.getCause());
        } finally {
            Future<?> unused = resources.shutdown(0, LONGEST_FAREWELL_SECONDS, TimeUnit.SECONDS);
            timer.shutdownNow();
        }
    }
}
