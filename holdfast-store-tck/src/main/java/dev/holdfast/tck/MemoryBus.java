package dev.holdfast.tck;

import dev.holdfast.cluster.ClusterBus;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
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

    /** One that has begun, and perhaps lapsed. */
    private static final class Incarnation {
        private final Queue<byte[]> inbox = new ArrayDeque<>();
        /** How many bytes are in the inbox. */
        private long bytes;

        private long until;
        private @Nullable Consumer<byte[]> handler;
        private boolean handing;

        private boolean takesMore() {
            return inbox.size() < INBOX_MESSAGES && bytes < INBOX_BYTES;
        }

        private void add(byte[] message) {
            inbox.add(message);
            bytes += message.length;
        }

        private Optional<byte[]> take() {
            Optional<byte[]> next = Optional.ofNullable(inbox.poll());
            next.ifPresent(message -> bytes -= message.length);
            return next;
        }
    }

    MemoryBus(InstantSource clock, Executor executor) {
        this.clock = clock;
        this.executor = executor;
    }

    private Optional<Incarnation> alive(String node) {
        return Optional.ofNullable(incarnations.get(node)).filter(found -> found.until > clock.millis());
    }

    private static <T> CompletionStage<T> done(T value) {
        return CompletableFuture.completedFuture(value);
    }

    @Override
    public synchronized CompletionStage<Void> begin(String node, Duration lease) {
        if (alive(node).isPresent()) {
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
        Optional<Incarnation> found = alive(node);
        found.ifPresent(present -> present.until = clock.millis() + lease.toMillis());
        return done(found.isPresent());
    }

    @Override
    public synchronized CompletionStage<Void> end(String node) {
        incarnations.remove(node);
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public synchronized CompletionStage<Set<String>> living() {
        Set<String> living = new TreeSet<>(incarnations.keySet());
        living.removeIf(node -> alive(node).isEmpty());
        return done(living);
    }

    @Override
    public CompletionStage<Boolean> send(String node, byte[] message) {
        synchronized (this) {
            Optional<Incarnation> found = alive(node).filter(Incarnation::takesMore);
            if (found.isEmpty()) {
                return done(false);
            }
            found.get().add(message);
        }
        handOver(node);
        return done(true);
    }

    @Override
    public Inbox receive(String node, Consumer<byte[]> handler) {
        synchronized (this) {
            alive(node).ifPresent(present -> present.handler = handler);
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
            Optional<Incarnation> found = alive(node).filter(present -> !present.handing && present.handler != null);
            if (found.isEmpty()) {
                return;
            }
            found.get().handing = true;
        }
        executor.execute(() -> {
            for (Optional<Runnable> next = next(node); next.isPresent(); next = next(node)) {
                handle(next.get());
            }
        });
    }

    private static void handle(Runnable next) {
        try {
            next.run();
        } catch (Throwable e) {
            logger.error("a message could not be handled", e);
        }
    }

    private synchronized Optional<Runnable> next(String node) {
        Optional<Incarnation> found = alive(node);
        if (found.isEmpty()) {
            return Optional.empty();
        }
        Consumer<byte[]> handler = found.get().handler;
        Optional<byte[]> message =
                handler == null ? Optional.empty() : found.get().take();
        if (handler == null || message.isEmpty()) {
            found.get().handing = false;
            return Optional.empty();
        }
        return Optional.of(() -> handler.accept(message.get()));
    }

    synchronized void close() {
        incarnations.clear();
    }
}
