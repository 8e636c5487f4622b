package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionKey;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

/** The one thread that reads from the disk. The stages of its steps complete on another. */
final class ReaderThread {
    private static final long PATIENCE_SECONDS = 3600;

    private final ScheduledThreadPoolExecutor thread =
            new ScheduledThreadPoolExecutor(1, StoreThreads.named("holdfast-store-reader"));
    private final DiskSessions sessions;
    private final Completions completions;

    ReaderThread(DiskSessions sessions, Completions completions) {
        this.sessions = sessions;
        this.completions = completions;
    }

    /** For the sweeper, which shares it. */
    ScheduledExecutorService executor() {
        return thread;
    }

    /** Takes a step with a live session. */
    <T> CompletionStage<T> take(SessionKey key, DiskSessions.Step<T> step) {
        CompletableFuture<T> stage = new CompletableFuture<>();
        try {
            thread.execute(() -> read(key, step, stage));
        } catch (RejectedExecutionException e) {
            stage.completeExceptionally(sessions.database().closed());
        }
        return stage;
    }

    private <T> void read(SessionKey key, DiskSessions.Step<T> step, CompletableFuture<T> stage) {
        Lock lock = sessions.database().lockOf(key);
        lock.lock();
        try {
            Optional<SessionIndex> index = sessions.find(key);
            // no later stage of this session completes before this one
            index.ifPresent(SessionIndex::depart);
            CompletionStage<T> taken;
            try {
                taken = step.apply(index.filter(sessions::isLive));
            } catch (Throwable e) {
                taken = CompletableFuture.failedFuture(e);
            }
            taken.whenComplete((value, failure) -> completions.run(key, () -> {
                if (failure == null) {
                    stage.complete(value);
                } else {
                    stage.completeExceptionally(failure);
                }
                index.ifPresent(sessions::arrived);
            }));
        } catch (Throwable e) {
            completions.run(key, () -> stage.completeExceptionally(e));
        } finally {
            lock.unlock();
        }
    }

    /** Waits for the steps that were taken; takes no more. */
    void close() {
        thread.shutdown();
        StoreThreads.ended(thread, PATIENCE_SECONDS, TimeUnit.SECONDS);
    }
}
