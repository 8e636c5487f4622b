package dev.holdfast.micrometer;

import dev.holdfast.cluster.ClusterBus;
import dev.holdfast.cluster.ClusterNodes;
import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.ClusterSupport;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.time.InstantSource;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * A store of which is measured how long it takes for what it is asked to do, and how often it refuses or fails. Every method of {@link
 * SessionStore} is here, those with a default too.
 */
class TimedStore implements SessionStore {
    private static final Duration[] BUCKETS = {
        Duration.ofNanos(100_000),
        Duration.ofMillis(1),
        Duration.ofMillis(5),
        Duration.ofMillis(25),
        Duration.ofMillis(100),
        Duration.ofSeconds(1),
        Duration.ofSeconds(10)
    };

    private enum Operation {
        CREATE,
        CLAIM,
        LOOK,
        APPEND,
        READ,
        DELETE,
        FENCE,
        TOKEN
    }

    private record Timers(Timer done, Timer refused, Timer failed) {}

    private final SessionStore store;
    private final MeterRegistry registry;
    private final Map<Operation, Timers> timers = new EnumMap<>(Operation.class);

    private TimedStore(SessionStore store, MeterRegistry registry) {
        this.store = store;
        this.registry = registry;
        for (Operation operation : Operation.values()) {
            timers.put(
                    operation,
                    new Timers(timer(operation, "done"), timer(operation, "refused"), timer(operation, "failed")));
        }
    }

    static SessionStore of(SessionStore store, MeterRegistry registry) {
        // only a store that nodes share comes with the classes of a cluster
        return store.promise().shared() && store.cluster().isPresent()
                ? Shared.timed(store, registry)
                : new TimedStore(store, registry);
    }

    private Timer timer(Operation operation, String outcome) {
        return Timer.builder("holdfast.store.operations")
                .description("What the session store was asked to do, until it was done, was refused or had failed")
                .tag("operation", Tags.of(operation))
                .tag("outcome", outcome)
                .serviceLevelObjectives(BUCKETS)
                .register(registry);
    }

    /** Measures until the stage is complete, which is returned as it is. */
    private <T> CompletionStage<T> time(Operation operation, Supplier<CompletionStage<T>> work) {
        Timers of = Objects.requireNonNull(timers.get(operation));
        long began = now();
        CompletionStage<T> stage;
        try {
            stage = work.get();
        } catch (RuntimeException e) {
            record(of.failed, began);
            throw e;
        }
        if (stage instanceof CompletableFuture<T> future && future.isDone() && !future.isCompletedExceptionally()) {
            record(of.done, began);
        } else {
            stage.whenComplete((value, failure) -> record(failure == null ? of.done : notDone(of, failure), began));
        }
        return stage;
    }

    /** A store that works refuses an epoch that is over, and a session that is there already or is not there ({@link SessionStore}). */
    private static Timer notDone(Timers of, Throwable failure) {
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
        return cause instanceof StaleEpochException || cause instanceof IllegalStateException ? of.refused : of.failed;
    }

    private long now() {
        return registry.config().clock().monotonicTime();
    }

    private void record(Timer timer, long began) {
        timer.record(now() - began, TimeUnit.NANOSECONDS);
    }

    @Override
    public Promise promise() {
        return store.promise();
    }

    @Override
    public Optional<InstantSource> clock() {
        return store.clock();
    }

    @Override
    public Optional<ClusterSupport> cluster() {
        return store.cluster();
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        return time(Operation.CREATE, () -> store.create(key, epoch, record));
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return time(Operation.CLAIM, () -> store.claim(key, nonce));
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return time(Operation.LOOK, () -> store.look(key));
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        return time(Operation.APPEND, () -> store.append(key, epoch, append));
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return time(Operation.READ, () -> store.read(key, stream, after, maxBytes));
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        return time(Operation.DELETE, () -> store.delete(key));
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return time(Operation.DELETE, () -> store.delete(key, epoch));
    }

    @Override
    public Optional<String> trouble() {
        return store.trouble();
    }

    @Override
    public void close() {
        store.close();
    }

    /**
     * One that nodes share. A join counts as a claim, a commit as an append, and to ask for the members as a look; the bus, and how many
     * sessions a principal has, are not measured.
     */
    static final class Shared extends TimedStore implements SharedSessionStore {
        private final SharedSessionStore store;

        private Shared(SharedSessionStore store, MeterRegistry registry) {
            super(store, registry);
            this.store = store;
        }

        /** The same for one that nodes claim from each other, and do not join. */
        private static SessionStore timed(SessionStore store, MeterRegistry registry) {
            return store instanceof SharedSessionStore shared
                    ? new Shared(shared, registry)
                    : new TimedStore(store, registry);
        }

        @Override
        public Optional<ClusterSupport> cluster() {
            return Optional.of(ClusterNodes.sharing(this));
        }

        @Override
        public ClusterBus bus() {
            return store.bus();
        }

        @Override
        public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record, String node) {
            return super.time(Operation.CREATE, () -> store.create(key, epoch, record, node));
        }

        @Override
        public CompletionStage<Optional<Joined>> join(SessionKey key, int nonce, String node) {
            return super.time(Operation.CLAIM, () -> store.join(key, nonce, node));
        }

        @Override
        public CompletionStage<List<Member>> members(SessionKey key) {
            return super.time(Operation.LOOK, () -> store.members(key));
        }

        @Override
        public CompletionStage<Boolean> fence(SessionKey key, Epoch epoch) {
            return super.time(Operation.FENCE, () -> store.fence(key, epoch));
        }

        @Override
        public CompletionStage<Appended> commit(SessionKey key, Epoch epoch, long number, Append append) {
            return super.time(Operation.APPEND, () -> store.commit(key, epoch, number, append));
        }

        @Override
        public CompletionStage<Long> token(
                SessionKey key, Epoch epoch, StreamId stream, Part part, long expected, long token) {
            return super.time(Operation.TOKEN, () -> store.token(key, epoch, stream, part, expected, token));
        }

        @Override
        public CompletionStage<Counted> count(String principal, SessionKey key, long until, int most) {
            return store.count(principal, key, until, most);
        }

        @Override
        public CompletionStage<Void> uncount(String principal, SessionKey key) {
            return store.uncount(principal, key);
        }

        @Override
        public Tail tail(SessionKey key, Runnable hinted) {
            return store.tail(key, hinted);
        }
    }
}
