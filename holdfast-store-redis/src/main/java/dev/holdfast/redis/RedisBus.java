package dev.holdfast.redis;

import dev.holdfast.cluster.ClusterBus;
import dev.holdfast.redis.RedisConnector.Commands;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.XReadArgs;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leases and inboxes. All of them are in one slot: a sorted set of the incarnations, by the time at which their leases lapse, and for
 * each inbox a stream, and a hash that counts its bytes.
 */
final class RedisBus implements ClusterBus, AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(RedisBus.class);
    private static final long READ_AGAIN_MILLIS = 200;
    /** Redis cannot be asked for a number of bytes: a few messages fit a small heap even if each carries a large body. */
    private static final int MOST_AT_ONCE = 8;

    private final RedisConnections connections;
    private final RedisClock time;
    private final Optional<PrefixOwner> owner;
    private final String prefix;
    private final String slot;
    private final byte[] leases;
    /** Those that are not closed yet. */
    private final Map<String, InboxReader> inboxes = new ConcurrentHashMap<>();

    RedisBus(RedisConnections connections, String prefix, Optional<PrefixOwner> owner, RedisClock time) {
        this.connections = connections;
        this.time = time;
        this.owner = owner;
        this.prefix = prefix;
        this.slot = prefix + "{bus}";
        this.leases = RedisCodec.text(slot + "leases");
    }

    private byte[] inbox(String node) {
        return RedisCodec.text(slot + "inbox:" + node);
    }

    /** Completes when the prefix is this service's; fails where it is another one's. */
    CompletionStage<Void> enter() {
        return owner.map(service -> service.enter(connections, prefix)).orElse(CompletableFuture.completedFuture(null));
    }

    @Override
    public Duration answersWithin() {
        return connections.connector().settings.timeout();
    }

    /** Enters first: Redis may have lost whose the prefix is, and another service may have come. */
    @Override
    public CompletionStage<Void> begin(String node, Duration lease) {
        return enter().thenCompose(entered -> run(
                Script.BEGIN,
                node,
                answer -> {
                    if (Script.word(answer) == Script.REFUSED) {
                        throw new IllegalStateException(node + " lives already");
                    }
                    return null;
                },
                RedisCodec.digits(lease.toMillis())));
    }

    @Override
    public CompletionStage<Boolean> renew(String node, Duration lease) {
        return run(
                Script.RENEW,
                node,
                answer -> {
                    time.follow((Long) answer.get(1));
                    return Script.word(answer) != Script.REFUSED;
                },
                RedisCodec.digits(lease.toMillis()));
    }

    @Override
    public CompletionStage<Void> end(String node) {
        return run(Script.END, node, answer -> null);
    }

    @Override
    public CompletionStage<Set<String>> living() {
        return run(Script.LIVING, "", answer -> {
            Set<String> living = new TreeSet<>();
            ((List<?>) answer.get(1)).forEach(name -> living.add(RedisCodec.text((byte[]) name)));
            return living;
        });
    }

    @Override
    public CompletionStage<Boolean> send(String node, byte[] message) {
        return run(
                Script.SEND,
                node,
                answer -> Script.word(answer) != Script.REFUSED,
                RedisCodec.digits(INBOX_MESSAGES),
                RedisCodec.digits(INBOX_BYTES),
                message);
    }

    private <T> CompletionStage<T> run(
            Script script, String node, Function<List<Object>, T> reader, byte[]... arguments) {
        byte[][] keys = {leases, inbox(node), RedisCodec.text(slot + "bytes:" + node)};
        return connections.run(script, keys, node, reader, RedisCodec.behind(RedisCodec.text(node), arguments));
    }

    @Override
    public Inbox receive(String node, Consumer<byte[]> handler) {
        InboxReader reader = new InboxReader(node, handler);
        inboxes.put(node, reader);
        reader.start();
        return () -> {
            inboxes.remove(node, reader);
            reader.close();
        };
    }

    @Override
    public void close() {
        inboxes.values().forEach(InboxReader::close);
    }

    /**
     * Hands over the messages of one inbox. One command at a time waits for messages, on a connection of its own; messages are removed
     * once they were handed over. After the connection has broken, reading goes on behind the last message that was handed over.
     */
    private final class InboxReader implements Inbox {
        private final String node;
        private final byte[] name;
        private final Consumer<byte[]> handler;
        private volatile @Nullable Commands commands;
        private final OutageLog outage = new OutageLog();
        private volatile boolean closed;
        /** These three are changed by the reading thread only. */
        private String last = "0-0";

        private long handedOver;
        private long bytes;
        /** How many messages Redis knows to be handed over. */
        private final AtomicLong known = new AtomicLong();

        private InboxReader(String node, Consumer<byte[]> handler) {
            this.node = node;
            this.name = inbox(node);
            this.handler = handler;
        }

        /** Connects; from then on the connection comes back by itself. */
        private void start() {
            if (closed) {
                return;
            }
            connections.connector().connect().whenComplete((fresh, failure) -> {
                if (failure != null) {
                    complain(failure);
                    connections.connector().timer().schedule(this::start, READ_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
                    return;
                }
                commands = fresh;
                if (closed) {
                    fresh.connection().closeAsync();
                } else {
                    read(fresh);
                }
            });
        }

        @SuppressWarnings("unchecked") // one argument of a generic type where an array of them is declared
        private void read(Commands from) {
            if (closed) {
                return;
            }
            XReadArgs args =
                    XReadArgs.Builder.block(RedisConnector.LONGEST_WAIT).count(MOST_AT_ONCE);
            CompletionStage<List<StreamMessage<byte[], byte[]>>> asked;
            try {
                asked = from.async().xread(args, XReadArgs.StreamOffset.from(name, last));
            } catch (Throwable e) {
                // an exception must not end the reading
                asked = CompletableFuture.failedFuture(e);
            }
            asked.whenComplete((messages, failure) ->
                    connections.callbackOf(this).execute(() -> answered(from, messages, failure)));
        }

        private void answered(
                Commands from, List<StreamMessage<byte[], byte[]>> messages, @Nullable Throwable failure) {
            if (!closed) {
                connections.refusals().ended(InboxReader.class, name, failure);
            }
            if (failure == null) {
                outage.over(() -> logger.info("the inbox {} is read again", RedisCodec.text(name)));
                handOver(messages);
                read(from);
            } else {
                complain(failure);
                connections.connector().timer().schedule(() -> read(from), READ_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
            }
        }

        private void complain(Throwable failure) {
            Throwable cause = RedisConnections.cause(failure);
            if (!closed) {
                outage.begun(
                        () -> logger.warn("the inbox {} cannot be read: {}", RedisCodec.text(name), cause.toString()));
            }
        }

        private void handOver(List<StreamMessage<byte[], byte[]>> messages) {
            for (StreamMessage<byte[], byte[]> message : messages) {
                if (closed) {
                    return;
                }
                last = message.getId();
                message.getBody().values().forEach(this::handle);
            }
            // also if nothing has come: a full inbox gets no more messages until Redis hears of those that were handed
            // over
            if (known.get() < handedOver) {
                guarded(this::trim);
            }
        }

        private void handle(byte[] message) {
            handedOver++;
            bytes += message.length;
            guarded(() -> handler.accept(message));
        }

        /** Whatever a handler throws, the next messages have to be read. */
        private void guarded(Runnable step) {
            try {
                step.run();
            } catch (Throwable e) {
                logger.error("a message of another node could not be handled", e);
            }
        }

        private void trim() {
            int dash = last.indexOf('-');
            String next = last.substring(0, dash + 1) + (Long.parseLong(last.substring(dash + 1)) + 1);
            long told = handedOver;
            // the sum of all bytes, so that the next call makes good one that fails
            CompletionStage<Void> had =
                    run(Script.HAD, node, answer -> null, RedisCodec.text(next), RedisCodec.digits(bytes));
            had.thenRun(() -> known.accumulateAndGet(told, Math::max));
        }

        @Override
        public void close() {
            closed = true;
            Commands present = commands;
            if (present != null) {
                present.connection().closeAsync();
            }
        }
    }
}
