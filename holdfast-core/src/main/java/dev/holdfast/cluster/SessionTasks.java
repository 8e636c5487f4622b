package dev.holdfast.cluster;

import dev.holdfast.session.LiveSession;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What other nodes want of sessions here, done where it may block: for each session one thing after the other, in order. Safe for use
 * by any thread.
 */
final class SessionTasks {
    private static final Logger logger = LoggerFactory.getLogger(SessionTasks.class);
    /** A session whose backend is so far behind hears no more. */
    private static final int MOST = 1_024;

    private final Predicate<Runnable> elsewhere;
    private final Map<LiveSession, Queue<Runnable>> waiting = new ConcurrentHashMap<>();

    /**
     * @param elsewhere does something where it may block; false if nobody does it
     */
    SessionTasks(Predicate<Runnable> elsewhere) {
        this.elsewhere = elsewhere;
    }

    /** Does this after what came before it for the session; false where too much waits. */
    boolean add(LiveSession session, Runnable task) {
        AtomicBoolean begins = new AtomicBoolean();
        AtomicBoolean taken = new AtomicBoolean();
        waiting.compute(session, (key, found) -> {
            begins.setPlain(found == null);
            Queue<Runnable> queue = found == null ? new ArrayDeque<>(1) : found;
            if (queue.size() < MOST) {
                taken.setPlain(queue.add(task));
            }
            return queue;
        });
        if (begins.getPlain() && !elsewhere.test(() -> work(session))) {
            work(session);
        }
        return taken.getPlain();
    }

    private void work(LiveSession session) {
        for (Optional<Runnable> task = next(session); task.isPresent(); task = next(session)) {
            try {
                task.get().run();
            } catch (Throwable e) {
                logger.error("session {}: what another node has sent failed", session.shortId(), e);
            }
        }
    }

    private Optional<Runnable> next(LiveSession session) {
        AtomicReference<@Nullable Runnable> next = new AtomicReference<>();
        waiting.computeIfPresent(session, (key, queue) -> {
            Runnable task = queue.poll();
            next.setPlain(task);
            return task == null ? null : queue;
        });
        return Optional.ofNullable(next.getPlain());
    }
}
