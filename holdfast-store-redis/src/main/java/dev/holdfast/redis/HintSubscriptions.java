package dev.holdfast.redis;

import dev.holdfast.cluster.SharedSessionStore.Tail;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Subscriptions to the hints of the sessions that this node tails: one connection, and a channel for each session. What was not
 * subscribed while Redis was away is subscribed within a second after it is back. Each subscription counts as a hint, for one may have
 * come before it.
 */
final class HintSubscriptions implements AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(HintSubscriptions.class);
    private static final long CHECK_SECONDS = 1;

    private final RedisConnections connections;
    private final Map<ByteBuffer, Channel> channels = new ConcurrentHashMap<>();
    private final StatefulRedisPubSubConnection<byte[], byte[]> connection;
    private final ScheduledFuture<?> check;

    /** One session's channel. */
    private static final class Channel {
        private final List<Runnable> hinted = new CopyOnWriteArrayList<>();
        /** Whether Redis has said so. */
        private volatile boolean subscribed;
    }

    /** Connects; {@code connections} are open. */
    HintSubscriptions(RedisConnections connections) {
        this.connections = connections;
        connection = connections.await(connections.connector().connectPubSub());
        connection.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(byte[] channel, byte[] message) {
                hint(ByteBuffer.wrap(channel));
            }

            @Override
            public void subscribed(byte[] channel, long count) {
                ByteBuffer name = ByteBuffer.wrap(channel);
                Channel present = channels.get(name);
                if (present == null) {
                    // the last tail was closed while Redis was away
                    connection.async().unsubscribe(channel);
                } else {
                    present.subscribed = true;
                    hint(name);
                }
            }
        });
        check = connections
                .connector()
                .timer()
                .scheduleWithFixedDelay(this::subscribe, CHECK_SECONDS, CHECK_SECONDS, TimeUnit.SECONDS);
    }

    /** Must not throw: the timer does not repeat what has thrown. */
    private void subscribe() {
        try {
            byte[][] missing = channels.entrySet().stream()
                    .filter(entry -> !entry.getValue().subscribed)
                    .map(entry -> entry.getKey().array())
                    .toArray(byte[][]::new);
            if (missing.length > 0) {
                subscribe(missing);
            }
        } catch (Throwable e) {
            logger.error("hints of sessions could not be subscribed; it is tried again within a second", e);
        }
    }

    private void subscribe(byte[]... names) {
        connection
                .async()
                .subscribe(names)
                .whenComplete(
                        (done, failure) -> connections.refusals().ended(HintSubscriptions.class, names[0], failure));
    }

    private void hint(ByteBuffer name) {
        Channel channel = channels.get(name);
        if (channel != null) {
            channel.hinted.forEach(Runnable::run);
        }
    }

    Tail tail(byte[] name, Runnable hinted) {
        ByteBuffer channel = ByteBuffer.wrap(name);
        // an object of its own for each tail: of two equal callbacks each is removed by itself
        Runnable own = () -> connections.callbackOf(channel).execute(hinted);
        // inside compute, so that the commands are sent in the order of the changes
        channels.compute(channel, (key, present) -> {
            Channel followed = present == null ? new Channel() : present;
            followed.hinted.add(own);
            if (present == null) {
                subscribe(name);
            }
            return followed;
        });
        return () -> channels.computeIfPresent(channel, (key, present) -> {
            if (!present.hinted.remove(own) || !present.hinted.isEmpty()) {
                return present;
            }
            connection.async().unsubscribe(name);
            return null;
        });
    }

    @Override
    public void close() {
        check.cancel(false);
        connection.closeAsync();
    }
}
