package dev.holdfast.cluster;

import dev.holdfast.session.LiveSession;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What other nodes want of sessions here, and what their clients do on this one, done where it may block: for each session one thing
 * after the other, in order. Safe for use by any thread.
 */
final class SessionTasks {
    private static final Logger logger = LoggerFactory.getLogger(SessionTasks.class);
    /** A session whose backend is so far behind hears no more. */
    private static final int MOST = 1_024;

    /** What may be done at once is ready so. */
    static final CompletableFuture<Void> DONE = CompletableFuture.completedFuture(null);

    private final Executor blocking;
    private final Map<LiveSession, Queue<Task>> waiting = new ConcurrentHashMap<>();

    /**
     * Something to do.
     *
     * @param ready completes when it may be done, and never fails; what comes after it waits too
     */
    private record Task(Supplier<? extends CompletionStage<?>> ready, Runnable work) {}

    /**
     * @param blocking does something where it may block
     */
    SessionTasks(Executor blocking) {
        this.blocking = blocking;
    }

    /**
     * Does this after what came before it for the session; false where too much waits.
     *
     * @param ready completes when it may be done, and never fails
     */
    boolean add(LiveSession session, Supplier<? extends CompletionStage<?>> ready, Runnable work) {
        AtomicBoolean begins = new AtomicBoolean();
        AtomicBoolean taken = new AtomicBoolean();
        waiting.compute(session, (key, found) -> {
            begins.setPlain(found == null);
            Queue<Task> queue = found == null ? new ArrayDeque<>(1) : found;
            if (queue.size() < MOST) {
                taken.setPlain(queue.add(new Task(ready, work)));
            }
            return queue;
        });
        if (begins.getPlain()) {
            blocking.execute(() -> work(session));
        }
        return taken.getPlain();
    }

    /** Whether something that was to be done for the session before is not done yet. */
    boolean busy(LiveSession session) {
        return waiting.containsKey(session);
    }

    private void work(LiveSession session) {
        for (Optional<Task> next = next(session); next.isPresent(); next = next(session)) {
            Task task = next.get();
            CompletableFuture<?> ready = ready(session, task);
            if (!ready.isDone()) {
                ready.whenCompleteAsync(
                        (done, failure) -> {
                            run(session, task);
                            work(session);
                        },
                        blocking);
                return;
            }
            run(session, task);
        }
    }

    private static CompletableFuture<?> ready(LiveSession session, Task task) {
        try {
            return task.ready().get().toCompletableFuture();
        } catch (Throwable e) {
            failed(session, e);
            return DONE;
        }
    }

    private static void run(LiveSession session, Task task) {
        try {
            task.work().run();
        } catch (Throwable e) {
            failed(session, e);
        }
    }

    private static void failed(LiveSession session, Throwable failure) {
        logger.error("session {}: what has come for its backend failed", session.shortId(), failure);
    }

    private Optional<Task> next(LiveSession session) {
        AtomicReference<@Nullable Task> next = new AtomicReference<>();
        waiting.computeIfPresent(session, (key, queue) -> {
            Task task = queue.poll();
            next.setPlain(task);
            return task == null ? null : queue;
        });
        return Optional.ofNullable(next.getPlain());
    }
}
