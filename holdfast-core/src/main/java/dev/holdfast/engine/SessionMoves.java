package dev.holdfast.engine;

import dev.holdfast.Finding;
import dev.holdfast.spi.SessionKey;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** The sessions that are on their way between memory and store: of one session at most one move at a time. Safe for any thread. */
final class SessionMoves {
    /** Something has changed meanwhile: look again. */
    static final CompletionStage<Optional<Finding>> AGAIN = CompletableFuture.completedFuture(Optional.empty());

    private final Map<SessionKey, CompletableFuture<Optional<Finding>>> moving = new ConcurrentHashMap<>();

    /**
     * Moves a session, unless somebody does so already; then waits for them. The move must not wait for another of the same
     * session: what has to be looked up again comes back empty.
     */
    CompletionStage<Optional<Finding>> alone(SessionKey key, Supplier<CompletionStage<Optional<Finding>>> move) {
        CompletableFuture<Optional<Finding>> mine = new CompletableFuture<>();
        CompletableFuture<Optional<Finding>> theirs = moving.putIfAbsent(key, mine);
        if (theirs != null) {
            return theirs;
        }
        CompletionStage<Optional<Finding>> moved;
        try {
            moved = move.get();
        } catch (Throwable e) {
            moved = CompletableFuture.failedFuture(e);
        }
        moved.whenComplete((finding, failure) -> {
            moving.remove(key, mine);
            if (failure == null) {
                mine.complete(finding);
            } else {
                mine.completeExceptionally(failure);
            }
        });
        return mine;
    }
}
