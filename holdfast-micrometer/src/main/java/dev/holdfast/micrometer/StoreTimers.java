package dev.holdfast.micrometer;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** How long a store takes for what it is asked to do, and how often it fails. */
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
    private final Map<Operation, Timer> failed = new EnumMap<>(Operation.class);

    StoreTimers(MeterRegistry registry) {
        this.registry = registry;
        for (Operation operation : Operation.values()) {
            done.put(operation, timer(operation, "done"));
            failed.put(operation, timer(operation, "failed"));
        }
    }

    private Timer timer(Operation operation, String outcome) {
        return Timer.builder("holdfast.store.operations")
                .description("What the session store was asked to do, until it was done or had failed")
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
        if (stage instanceof CompletableFuture<T> future && future.isDone()) {
            record(future.isCompletedExceptionally() ? failed : done, operation, began);
        } else {
            stage.whenComplete((value, failure) -> record(failure == null ? done : failed, operation, began));
        }
        return stage;
    }

    private long now() {
        return registry.config().clock().monotonicTime();
    }

    private void record(Map<Operation, Timer> timers, Operation operation, long began) {
        Objects.requireNonNull(timers.get(operation)).record(now() - began, TimeUnit.NANOSECONDS);
    }
}
