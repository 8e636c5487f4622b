package dev.holdfast.log;

import dev.holdfast.EndReason;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What a step causes once the lock is released, in order: readers to wake, stages to complete, others to tell, and last the end
 * of the session, where the step asks for it. Most steps cause one thing or none.
 */
public final class Effects {
    private @Nullable Runnable first;
    private @Nullable List<Runnable> more;
    private @Nullable EndReason end;

    /** Wakes the connection of a reader. */
    public void wake(StreamCursor reader) {
        then(reader);
    }

    /** Completes a stage. */
    public void complete(CompletableFuture<Void> stage) {
        then(() -> stage.complete(null));
    }

    /** Fails a stage. */
    public void fail(CompletableFuture<Void> stage, Throwable failure) {
        then(() -> stage.completeExceptionally(failure));
    }

    /** Does something else; it is responsible for its own failures. */
    public void then(Runnable effect) {
        if (first == null) {
            first = effect;
        } else {
            if (more == null) {
                more = new ArrayList<>();
            }
            more.add(effect);
        }
    }

    /** Ends the session. Of several reasons the first counts. */
    public void end(EndReason reason) {
        if (end == null) {
            end = reason;
        }
    }

    /** Does them all but the end. */
    void perform() {
        if (first != null) {
            first.run();
        }
        if (more != null) {
            more.forEach(Runnable::run);
        }
    }

    Optional<EndReason> end() {
        return Optional.ofNullable(end);
    }
}
