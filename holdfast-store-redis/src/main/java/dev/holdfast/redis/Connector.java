package dev.holdfast.redis;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;

/** Makes connections to one server, to the master that sentinels name, or to a cluster. */
interface Connector extends AutoCloseable {
    /** Makes a connection; the stage fails where that takes too long. */
    CompletionStage<Commands> connect();

    /** Makes a connection that hears of messages. */
    CompletionStage<StatefulRedisPubSubConnection<byte[], byte[]>> connectPubSub();

    /** Runs what is due later, for a short time each. */
    ScheduledExecutorService timer();

    @Override
    void close();

    /**
     * A connection.
     *
     * @param connection to close it, and to hear of its state
     * @param async its commands
     */
    record Commands(StatefulConnection<byte[], byte[]> connection, RedisClusterAsyncCommands<byte[], byte[]> async) {}
}
