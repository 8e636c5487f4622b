package dev.holdfast.log;

import dev.holdfast.EndReason;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a step causes once the lock is released, in order: readers to wake, stages to complete, others to tell, and last the end
 * of the session, where the step asks for it. Most steps cause one thing or none.
 */
public final class Effects {
    private static final Logger logger = LoggerFactory.getLogger(Effects.class);

    private @Nullable Runnable first;
    private @Nullable List<Runnable> more;
    private @Nullable EndReason end;

    /** Whether there are none. */
    boolean none() {
        return first == null && end == null;
    }

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

    /** Does something else. */
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

    /**
     * Does them all, whatever one of them throws: the others, and the append behind them, have to go on.
     *
     * @param ends ends the session
     */
    void perform(Consumer<EndReason> ends) {
        if (first != null) {
            guarded(first);
        }
        if (more != null) {
            more.forEach(Effects::guarded);
        }
        EndReason reason = end;
        if (reason != null) {
            guarded(() -> ends.accept(reason));
        }
    }

    private static void guarded(Runnable effect) {
        try {
            effect.run();
        } catch (Throwable e) {
            logger.error("what a step has caused failed", e);
        }
    }
}
