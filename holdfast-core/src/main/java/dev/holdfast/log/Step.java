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
 * The right to change a session. {@link SessionLog#step} takes the session's lock and lends this for one decision. A method that
 * changes the session asks for it, so that whoever calls it has the lock. What is read under the lock is read in a step, or by
 * {@link SessionLog#look}.
 *
 * <p>It collects what the decision causes, which happens in order once the lock is released: readers are woken, stages completed,
 * others told, and last the session ends, where the decision asks for that. Most steps cause one thing or none.
 */
public final class Step {
    private static final Logger logger = LoggerFactory.getLogger(Step.class);

    private @Nullable Runnable first;
    private @Nullable List<Runnable> more;
    private boolean crowds;
    private @Nullable List<Runnable> last;
    private @Nullable EndReason end;
    private boolean over;

    Step() {}

    /** Whether the decision has caused nothing. */
    boolean idle() {
        return first == null && end == null && !crowds && last == null;
    }

    /** Nothing can be caused any more; returns whether nothing was. */
    boolean endsIdle() {
        over = true;
        return idle();
    }

    public void complete(CompletableFuture<Void> stage) {
        then(() -> stage.complete(null));
    }

    public void fail(CompletableFuture<Void> stage, Throwable failure) {
        then(() -> stage.completeExceptionally(failure));
    }

    public void then(Runnable effect) {
        assert !over : "used after its end";
        if (first == null) {
            first = effect;
        } else {
            if (more == null) {
                more = new ArrayList<>();
            }
            more.add(effect);
        }
    }

    /** Does this behind all else that the step causes, but its end: it may do much on this thread. */
    public void thenLast(Runnable effect) {
        assert !over : "used after its end";
        if (last == null) {
            last = new ArrayList<>(1);
        }
        last.add(effect);
    }

    /** The session has kept more while all sessions together keep too much: makes room, once for all of the step. */
    void crowd() {
        assert !over : "used after its end";
        crowds = true;
    }

    /** Ends the session. Of several reasons the first counts. */
    public void end(EndReason reason) {
        assert !over : "used after its end";
        if (end == null) {
            end = reason;
        }
    }

    /**
     * Does everything that was caused, after the lock was released. A failure of one effect stops neither the others nor the append
     * behind them.
     *
     * @param makesRoom makes room for what the session keeps
     * @param ends ends the session
     */
    void perform(Runnable makesRoom, Consumer<EndReason> ends) {
        over = true;
        if (first != null) {
            guarded(first);
        }
        if (more != null) {
            more.forEach(Step::guarded);
        }
        if (crowds) {
            guarded(makesRoom);
        }
        if (last != null) {
            last.forEach(Step::guarded);
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
