package dev.holdfast.cluster;

import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.StreamId;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * Lets what changes the reader of a stream on this node happen one after another: who takes a stream over has begun to read it before
 * anybody else takes it here, or is ended by another node. Safe for use by any thread.
 */
final class SerialExecutor {
    private static final CompletableFuture<Void> NOBODY = CompletableFuture.completedFuture(null);

    private final Map<Place, CompletableFuture<Void>> last = new ConcurrentHashMap<>();

    private record Place(LiveSession session, StreamId stream) {}

    /** Does something when all that came before it is over, whatever became of that. */
    <T> CompletionStage<T> take(LiveSession session, StreamId stream, Supplier<CompletionStage<T>> turn) {
        Place place = new Place(session, stream);
        CompletableFuture<Void> over = new CompletableFuture<>();
        CompletableFuture<Void> before = last.put(place, over);
        return (before == null ? NOBODY : before).thenCompose(now -> turn.get()).whenComplete((value, failure) -> {
            last.remove(place, over);
            over.complete(null);
        });
    }
}
