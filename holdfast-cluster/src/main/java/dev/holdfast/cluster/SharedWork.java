package dev.holdfast.cluster;

import dev.holdfast.session.StoreQuestion;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** Work that is done once for all who need it at the same time. Safe for use by any thread. */
final class SharedWork<K, T> {
    private final Map<K, CompletableFuture<T>> underWay = new ConcurrentHashMap<>();

    /** Begins it, unless it is under way; completes with what comes of it, or fails as {@link StoreQuestion#ask} does. */
    CompletionStage<T> of(K what, Supplier<CompletionStage<T>> work) {
        CompletableFuture<T> own = new CompletableFuture<>();
        CompletableFuture<T> before = underWay.putIfAbsent(what, own);
        if (before != null) {
            return before;
        }
        StoreQuestion.ask(work).whenComplete((done, failure) -> {
            underWay.remove(what, own);
            if (failure == null) {
                own.complete(done);
            } else {
                own.completeExceptionally(failure);
            }
        });
        return own;
    }
}
