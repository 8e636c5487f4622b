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

    /** So many bytes wait for a session at least, before it hears no more. */
    private static final long MOST_BYTES = 16 << 20;

    /** What may be done at once is ready so. */
    static final CompletableFuture<Void> DONE = CompletableFuture.completedFuture(null);

    private final Executor blocking;
    private final Map<LiveSession, Waiting> waiting = new ConcurrentHashMap<>();

    /**
     * Something to do.
     *
     * @param bytes how much it keeps in memory until then
     * @param ready completes when it may be done, and never fails; what comes after it waits too
     */
    private record Task(long bytes, Supplier<? extends CompletionStage<?>> ready, Runnable work) {}

    /** What is to be done for one session; used inside of the map. */
    private static final class Waiting {
        private final Queue<Task> tasks = new ArrayDeque<>(1);
        private long bytes;

        private boolean add(Task task) {
            if (tasks.size() >= MOST || bytes >= MOST_BYTES) {
                return false;
            }
            bytes += task.bytes;
            return tasks.add(task);
        }

        private @Nullable Task next() {
            Task task = tasks.poll();
            bytes -= task == null ? 0 : task.bytes;
            return task;
        }
    }

    /**
     * @param blocking does something where it may block
     */
    SessionTasks(Executor blocking) {
        this.blocking = blocking;
    }

    /**
     * Does this after what came before it for the session; false where too much waits.
     *
     * @param bytes how much it keeps in memory until it is done
     * @param ready completes when it may be done, and never fails
     */
    boolean add(LiveSession session, long bytes, Supplier<? extends CompletionStage<?>> ready, Runnable work) {
        AtomicBoolean begins = new AtomicBoolean();
        AtomicBoolean taken = new AtomicBoolean();
        waiting.compute(session, (key, found) -> {
            begins.setPlain(found == null);
            Waiting queue = found == null ? new Waiting() : found;
            taken.setPlain(queue.add(new Task(bytes, ready, work)));
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
            Task task = queue.next();
            next.setPlain(task);
            return task == null ? null : queue;
        });
        return Optional.ofNullable(next.getPlain());
    }
}
