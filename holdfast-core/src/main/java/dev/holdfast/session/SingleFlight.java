package dev.holdfast.session;

import dev.holdfast.log.StoreQuestion;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** Work that is done once for all who ask for it at the same time. Safe for use by any thread. */
public final class SingleFlight<K, T> {
    private final Map<K, CompletableFuture<T>> inFlight = new ConcurrentHashMap<>();

    /** Begins it, unless it is in flight; completes or fails as that does. The work must not wait for itself. */
    public CompletionStage<T> of(K what, Supplier<CompletionStage<T>> work) {
        CompletableFuture<T> own = new CompletableFuture<>();
        CompletableFuture<T> before = inFlight.putIfAbsent(what, own);
        if (before != null) {
            return before;
        }
        StoreQuestion.asked(work).whenComplete((done, failure) -> {
            inFlight.remove(what, own);
            if (failure == null) {
                own.complete(done);
            } else {
                own.completeExceptionally(failure);
            }
        });
        return own;
    }
}
