package dev.holdfast.micrometer;

import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StaleEpochException;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** How long a store takes for what it is asked to do, and how often it refuses or fails. */
final class StoreTimers {
    enum Operation {
        CREATE,
        CLAIM,
        LOOK,
        APPEND,
        READ,
        DELETE,
        FENCE,
        TOKEN
    }

    private final MeterRegistry registry;
    private final Map<Operation, Timer> done = new EnumMap<>(Operation.class);
    private final Map<Operation, Timer> refused = new EnumMap<>(Operation.class);
    private final Map<Operation, Timer> failed = new EnumMap<>(Operation.class);

    StoreTimers(MeterRegistry registry) {
        this.registry = registry;
        for (Operation operation : Operation.values()) {
            done.put(operation, timer(operation, "done"));
            refused.put(operation, timer(operation, "refused"));
            failed.put(operation, timer(operation, "failed"));
        }
    }

    private Timer timer(Operation operation, String outcome) {
        return Timer.builder("holdfast.store.operations")
                .description("What the session store was asked to do, until it was done, was refused or had failed")
                .tag("operation", Tags.of(operation))
                .tag("outcome", outcome)
                .serviceLevelObjectives(
                        Duration.ofNanos(100_000),
                        Duration.ofMillis(1),
                        Duration.ofMillis(5),
                        Duration.ofMillis(25),
                        Duration.ofMillis(100),
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(10))
                .register(registry);
    }

    /** Measures until the stage is complete, which is returned as it is. */
    <T> CompletionStage<T> time(Operation operation, Supplier<CompletionStage<T>> work) {
        long began = now();
        CompletionStage<T> stage;
        try {
            stage = work.get();
        } catch (RuntimeException e) {
            record(failed, operation, began);
            throw e;
        }
        if (stage instanceof CompletableFuture<T> future && future.isDone() && !future.isCompletedExceptionally()) {
            record(done, operation, began);
        } else {
            stage.whenComplete((value, failure) -> record(failure == null ? done : notDone(failure), operation, began));
        }
        return stage;
    }

    /** A store that works refuses an epoch that is over, and a session that is there already or is not there ({@link SessionStore}). */
    private Map<Operation, Timer> notDone(Throwable failure) {
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
        return cause instanceof StaleEpochException || cause instanceof IllegalStateException ? refused : failed;
    }

    private long now() {
        return registry.config().clock().monotonicTime();
    }

    private void record(Map<Operation, Timer> timers, Operation operation, long began) {
        Objects.requireNonNull(timers.get(operation)).record(now() - began, TimeUnit.NANOSECONDS);
    }
}
