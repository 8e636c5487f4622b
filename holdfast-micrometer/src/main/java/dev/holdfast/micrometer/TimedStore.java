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
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Measures how long a store takes for each operation, and how often it refuses or fails. Every method of {@link SessionStore} is here,
 * also those with a default.
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

    /** One kind of work, with its timers by how it ended. */
    static final class Operation {
        private final Clock clock;
        private final Timer done;
        private final Timer refused;
        private final Timer failed;

        private Operation(MeterRegistry registry, String name) {
            clock = registry.config().clock();
            done = timer(registry, name, "done");
            refused = timer(registry, name, "refused");
            failed = timer(registry, name, "failed");
        }

        private static Timer timer(MeterRegistry registry, String name, String outcome) {
            return Timer.builder("holdfast.store.operations")
                    .description("What the session store was asked to do, until it was done, was refused or had failed")
                    .tag("operation", name)
                    .tag("outcome", outcome)
                    .serviceLevelObjectives(BUCKETS)
                    .register(registry);
        }

        /** Measures until the stage is complete, which is returned as it is. */
        <T> CompletionStage<T> time(Supplier<CompletionStage<T>> work) {
            long began = clock.monotonicTime();
            CompletionStage<T> stage;
            try {
                stage = work.get();
            } catch (RuntimeException e) {
                ended(e, began);
                throw e;
            }
            if (stage instanceof CompletableFuture<T> future && future.isDone() && !future.isCompletedExceptionally()) {
                done.record(clock.monotonicTime() - began, TimeUnit.NANOSECONDS);
            } else {
                stage.whenComplete((value, failure) -> ended(failure, began));
            }
            return stage;
        }

        /** A store that works refuses an epoch that is over, and a session that is there already or is not there ({@link SessionStore}). */
        private void ended(@Nullable Throwable failure, long began) {
            Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
            boolean refusal = cause instanceof StaleEpochException || cause instanceof IllegalStateException;
            Timer timer = failure == null ? done : refusal ? refused : failed;
            timer.record(clock.monotonicTime() - began, TimeUnit.NANOSECONDS);
        }
    }

    private final SessionStore store;
    final Operation creates;
    final Operation claims;
    final Operation looks;
    final Operation appends;
    final Operation reads;
    final Operation deletes;
    final Operation fences;
    final Operation tokens;

    private TimedStore(SessionStore store, MeterRegistry registry) {
        this.store = store;
        this.creates = new Operation(registry, "create");
        this.claims = new Operation(registry, "claim");
        this.looks = new Operation(registry, "look");
        this.appends = new Operation(registry, "append");
        this.reads = new Operation(registry, "read");
        this.deletes = new Operation(registry, "delete");
        this.fences = new Operation(registry, "fence");
        this.tokens = new Operation(registry, "token");
    }

    static SessionStore of(SessionStore store, MeterRegistry registry) {
        // only a store that nodes share comes with the classes of a cluster
        return store.promise().shared() && store.cluster().isPresent()
                ? Shared.timed(store, registry)
                : new TimedStore(store, registry);
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
        return creates.time(() -> store.create(key, epoch, record));
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return claims.time(() -> store.claim(key, nonce));
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return looks.time(() -> store.look(key));
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        return appends.time(() -> store.append(key, epoch, append));
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return reads.time(() -> store.read(key, stream, after, maxBytes));
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        return deletes.time(() -> store.delete(key));
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return deletes.time(() -> store.delete(key, epoch));
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
            return creates.time(() -> store.create(key, epoch, record, node));
        }

        @Override
        public CompletionStage<Optional<Joined>> join(SessionKey key, int nonce, String node) {
            return claims.time(() -> store.join(key, nonce, node));
        }

        @Override
        public CompletionStage<List<Member>> remove(SessionKey key) {
            return deletes.time(() -> store.remove(key));
        }

        @Override
        public CompletionStage<List<Member>> members(SessionKey key) {
            return looks.time(() -> store.members(key));
        }

        @Override
        public CompletionStage<Boolean> fence(SessionKey key, Epoch epoch) {
            return fences.time(() -> store.fence(key, epoch));
        }

        @Override
        public CompletionStage<Appended> commit(SessionKey key, Epoch epoch, long number, Append append) {
            return appends.time(() -> store.commit(key, epoch, number, append));
        }

        @Override
        public CompletionStage<Long> token(
                SessionKey key, Epoch epoch, StreamId stream, Part part, long expected, long token) {
            return tokens.time(() -> store.token(key, epoch, stream, part, expected, token));
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
