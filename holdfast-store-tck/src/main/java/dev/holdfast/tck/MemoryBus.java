package dev.holdfast.tck;

import dev.holdfast.cluster.ClusterBus;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The bus of a {@link MemoryCluster}; its own monitor guards it, and no handler is called inside. */
final class MemoryBus implements ClusterBus {
    private static final Logger logger = LoggerFactory.getLogger(MemoryBus.class);

    private final Map<String, Incarnation> incarnations = new HashMap<>();
    private final InstantSource clock;
    private final Executor executor;

    /** One life of a node, which may have lapsed. */
    private static final class Incarnation {
        private final Queue<byte[]> inbox = new ArrayDeque<>();
        private long inboxBytes;
        private long until;
        private @Nullable Consumer<byte[]> handler;
        private boolean handing;
    }

    MemoryBus(InstantSource clock, Executor executor) {
        this.clock = clock;
        this.executor = executor;
    }

    private @Nullable Incarnation alive(String node) {
        Incarnation found = incarnations.get(node);
        return found != null && found.until > clock.millis() ? found : null;
    }

    @Override
    public synchronized CompletionStage<Void> begin(String node, Duration lease) {
        if (alive(node) != null) {
            return CompletableFuture.failedFuture(new IllegalStateException(node + " lives already"));
        }
        incarnations.values().removeIf(lapsed -> lapsed.until <= clock.millis());
        Incarnation fresh = new Incarnation();
        fresh.until = clock.millis() + lease.toMillis();
        incarnations.put(node, fresh);
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public synchronized CompletionStage<Boolean> renew(String node, Duration lease) {
        Incarnation found = alive(node);
        if (found != null) {
            found.until = clock.millis() + lease.toMillis();
        }
        return CompletableFuture.completedFuture(found != null);
    }

    @Override
    public synchronized CompletionStage<Void> end(String node) {
        incarnations.remove(node);
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public synchronized CompletionStage<Set<String>> living() {
        Set<String> living = new TreeSet<>(incarnations.keySet());
        living.removeIf(node -> alive(node) == null);
        return CompletableFuture.completedFuture(living);
    }

    @Override
    public CompletionStage<Boolean> send(String node, byte[] message) {
        synchronized (this) {
            Incarnation found = alive(node);
            if (found == null || found.inbox.size() >= INBOX_MESSAGES || found.inboxBytes >= INBOX_BYTES) {
                return CompletableFuture.completedFuture(false);
            }
            found.inbox.add(message);
            found.inboxBytes += message.length;
        }
        handOver(node);
        return CompletableFuture.completedFuture(true);
    }

    @Override
    public Inbox receive(String node, Consumer<byte[]> handler) {
        synchronized (this) {
            Incarnation found = alive(node);
            if (found != null) {
                found.handler = handler;
            }
        }
        handOver(node);
        return () -> stop(node, handler);
    }

    private synchronized void stop(String node, Consumer<byte[]> handler) {
        Incarnation found = incarnations.get(node);
        if (found != null && found.handler == handler) {
            found.handler = null;
        }
    }

    /** Lets one task hand over what is there, unless one does. */
    private void handOver(String node) {
        synchronized (this) {
            Incarnation found = alive(node);
            if (found == null || found.handing || found.handler == null) {
                return;
            }
            found.handing = true;
        }
        executor.execute(() -> {
            boolean more = true;
            while (more) {
                more = handOverNext(node);
            }
        });
    }

    /** False if there is nothing to hand over now. */
    private boolean handOverNext(String node) {
        Consumer<byte[]> handler;
        byte[] message;
        synchronized (this) {
            Incarnation found = alive(node);
            if (found == null) {
                return false;
            }
            handler = found.handler;
            message = handler == null ? null : found.inbox.poll();
            if (handler == null || message == null) {
                found.handing = false;
                return false;
            }
            found.inboxBytes -= message.length;
        }
        try {
            handler.accept(message);
        } catch (Throwable e) {
            logger.error("a message could not be handled", e);
        }
        return true;
    }

    synchronized void close() {
        incarnations.clear();
    }
}
