package dev.holdfast.redis;

import dev.holdfast.redis.Connector.Commands;
import dev.holdfast.spi.ClusterBus;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.XReadArgs;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands over the messages of one inbox. One command at a time waits for messages on a connection of its own; what was handed over is
 * removed afterwards. Where the connection breaks it is read on behind the last message that was handed over.
 */
final class InboxReader implements ClusterBus.Inbox {
    private static final Logger logger = LoggerFactory.getLogger(InboxReader.class);
    private static final long PAUSE_MILLIS = 200;
    /** Redis cannot be asked for so many bytes: so few that their sum fits a small heap, if each carries a large body. */
    private static final int MOST_AT_ONCE = 8;

    private final RedisConnections connections;
    private final byte[] name;
    private final Consumer<byte[]> handler;
    private volatile @Nullable Commands commands;
    private final Had had;
    private final Complaint complaint = new Complaint();
    private volatile boolean closed;
    /** Only who reads changes these three. */
    private String last = "0-0";

    private long handedOver;
    private long bytes;
    /** Of how many messages Redis knows that they were handed over. */
    private final AtomicLong known = new AtomicLong();

    /** Lets Redis remove what was handed over. */
    @FunctionalInterface
    interface Had {
        /**
         * Tells of all that was, so that the next telling does as much more where one fails.
         *
         * @param next the least id that was not handed over
         * @param bytes of all messages that were
         */
        CompletionStage<Void> tell(String next, long bytes);
    }

    InboxReader(RedisConnections connections, byte[] name, Consumer<byte[]> handler, Had had) {
        this.connections = connections;
        this.name = name;
        this.handler = handler;
        this.had = had;
    }

    /** Connects; from then on the connection comes back by itself. */
    void start() {
        if (closed) {
            return;
        }
        connections.connector().connect().whenComplete((fresh, failure) -> {
            if (failure != null) {
                complain(failure);
                connections.connector().timer().schedule(this::start, PAUSE_MILLIS, TimeUnit.MILLISECONDS);
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
        XReadArgs args = XReadArgs.Builder.block(LettuceConnector.LONGEST_WAIT).count(MOST_AT_ONCE);
        CompletionStage<List<StreamMessage<byte[], byte[]>>> asked;
        try {
            asked = from.async().xread(args, XReadArgs.StreamOffset.from(name, last));
        } catch (Throwable e) {
            // what throws once must not end the reading
            asked = CompletableFuture.failedFuture(e);
        }
        asked.whenComplete((messages, failure) ->
                connections.completions().of(this).execute(() -> answered(from, messages, failure)));
    }

    private void answered(Commands from, List<StreamMessage<byte[], byte[]>> messages, @Nullable Throwable failure) {
        if (!closed) {
            connections.refusals().ended(InboxReader.class, name, failure);
        }
        if (failure == null) {
            complaint.over(() -> logger.info("the inbox {} is read again", Codec.text(name)));
            handOver(messages);
            read(from);
        } else {
            complain(failure);
            connections.connector().timer().schedule(() -> read(from), PAUSE_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void complain(Throwable failure) {
        Throwable cause = CommandConnection.cause(failure);
        if (!closed) {
            complaint.tell(() -> logger.warn("the inbox {} cannot be read: {}", Codec.text(name), cause.toString()));
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
        // where nothing has come for a while, a telling has failed that nobody else makes good: a full inbox gets no
        // more
        if (known.get() < handedOver) {
            guarded(this::trim);
        }
    }

    private void handle(byte[] message) {
        handedOver++;
        bytes += message.length;
        guarded(() -> handler.accept(message));
    }

    /** Whatever fails, the next messages have to be read. */
    private static void guarded(Runnable step) {
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
        had.tell(next, bytes).thenRun(() -> known.accumulateAndGet(told, Math::max));
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
