package dev.holdfast.it;

import dev.holdfast.spi.SessionStore;
import dev.holdfast.tck.MemoryStore;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** A store in memory whose appends take their time and complete on a thread of its own, in order. */
final class SlowStore implements AutoCloseable {
    private final MemoryStore store = new MemoryStore();
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor();
    private final Duration delay;

    SlowStore(Duration delay) {
        this.delay = delay;
    }

    SessionStore asStore() {
        return (SessionStore) Proxy.newProxyInstance(
                SessionStore.class.getClassLoader(), new Class<?>[] {SessionStore.class}, (proxy, method, args) -> {
                    Object result;
                    try {
                        result = method.invoke(store, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                    return method.getName().equals("append") ? later((CompletionStage<?>) result) : result;
                });
    }

    private <T> CompletionStage<T> later(CompletionStage<T> stage) {
        CompletableFuture<T> later = new CompletableFuture<>();
        stage.whenComplete((value, failure) -> thread.schedule(
                () -> failure == null ? later.complete(value) : later.completeExceptionally(failure),
                delay.toMillis(),
                TimeUnit.MILLISECONDS));
        return later;
    }

    @Override
    public void close() {
        thread.shutdownNow();
        store.close();
    }
}
