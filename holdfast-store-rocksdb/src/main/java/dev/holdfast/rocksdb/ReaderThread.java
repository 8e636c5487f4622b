package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** The one thread that reads from the disk. The stages of its steps complete on another. */
final class ReaderThread {
    private static final long PATIENCE_SECONDS = 3600;

    private final ScheduledThreadPoolExecutor thread =
            new ScheduledThreadPoolExecutor(1, StoreThreads.named("holdfast-store-reader"));
    private final DiskSessions sessions;
    private final Completions completions;

    /** How many steps of a session wait for their turn; most sessions have none. */
    private final Map<SessionKey, Integer> waiting = new ConcurrentHashMap<>();

    ReaderThread(DiskSessions sessions, Completions completions) {
        this.sessions = sessions;
        this.completions = completions;
    }

    /** Runs something when its turn comes. */
    void run(Runnable task) {
        thread.execute(task);
    }

    /** Runs something again and again; it must not throw. */
    void every(Duration interval, Runnable task) {
        long nanos = interval.toNanos();
        Future<?> unused = thread.scheduleWithFixedDelay(task, nanos, nanos, TimeUnit.NANOSECONDS);
    }

    /** Takes a step with a live session. */
    <T> CompletionStage<T> take(SessionKey key, DiskSessions.Step<T> step) {
        waiting.merge(key, 1, Integer::sum);
        return go(key, () -> {
            try {
                return sessions.loaded(key, index -> {
                    // no later stage of this session completes before this one
                    index.ifPresent(SessionIndex::depart);
                    return new Taken<>(index, taken(index, step));
                });
            } finally {
                waiting.computeIfPresent(key, (one, count) -> count == 1 ? null : count - 1);
            }
        });
    }

    /** Whether a step with a session waits for its turn, so that none may be taken at once. */
    boolean awaits(SessionKey key) {
        return waiting.containsKey(key);
    }

    private <T> CompletionStage<T> taken(Optional<SessionIndex> index, DiskSessions.Step<T> step) {
        try {
            return step.apply(index.filter(sessions::isLive));
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Reads of a live session. What is appended or deleted while it reads may complete before. */
    <T> CompletionStage<T> read(SessionKey key, Supplier<T> read, T otherwise) {
        return take(key, () -> {
            boolean live =
                    sessions.loaded(key, index -> index.filter(sessions::isLive).isPresent());
            return CompletableFuture.completedFuture(live ? read.get() : otherwise);
        });
    }

    /** Takes a step without an index, and without a lock. */
    <T> CompletionStage<T> take(SessionKey key, Supplier<CompletionStage<T>> step) {
        return go(key, () -> new Taken<>(Optional.empty(), step.get()));
    }

    /** What a step has begun, and the index that waits for its end. */
    private record Taken<T>(Optional<SessionIndex> index, CompletionStage<T> stage) {}

    private <T> CompletionStage<T> go(SessionKey key, Supplier<Taken<T>> work) {
        CompletableFuture<T> stage = new CompletableFuture<>();
        try {
            run(() -> go(key, work, stage));
        } catch (RejectedExecutionException e) {
            stage.completeExceptionally(sessions.database().closed());
        }
        return stage;
    }

    private <T> void go(SessionKey key, Supplier<Taken<T>> work, CompletableFuture<T> stage) {
        try {
            Taken<T> taken = sessions.database().reading(work);
            taken.stage.whenComplete((value, failure) -> completions.run(key, () -> {
                if (failure == null) {
                    stage.complete(value);
                } else {
                    stage.completeExceptionally(failure);
                }
                taken.index.ifPresent(sessions::arrived);
            }));
        } catch (Throwable e) {
            completions.run(key, () -> stage.completeExceptionally(e));
        }
    }

    /** Waits for the steps that were taken; takes no more. */
    void close() {
        thread.shutdown();
        StoreThreads.ended(thread, PATIENCE_SECONDS, TimeUnit.SECONDS);
    }
}
