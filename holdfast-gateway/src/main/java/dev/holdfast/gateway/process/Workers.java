package dev.holdfast.gateway.process;

import dev.holdfast.LogThrottle;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The threads that all children share. */
public final class Workers implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Workers.class);
    private static final int STARTERS = 4;
    private static final long RETRY_MILLIS = 100;
    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long MOST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** The pause after a look at all children is this many times as long as the look, which so takes a hundredth of a processor. */
    private static final long PAUSE_FACTOR = 100;

    private final Pool blocking = new Pool(Executors.newCachedThreadPool(DaemonThreads.numbered("holdfast-child-")));
    private final Pool starters =
            new Pool(Executors.newFixedThreadPool(STARTERS, DaemonThreads.numbered("holdfast-process-")));
    private final LogThrottle complaints = new LogThrottle(1, System::nanoTime);
    private final ScheduledExecutorService clock;
    private final ChildEnds ends;
    private final InheritedEntries inherited = new InheritedEntries();
    private final Set<Child> watched = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean watching = new AtomicBoolean();

    /**
     * The threads of one gateway.
     *
     * @param clock stays the caller's to shut down
     * @param processes ends the children
     */
    public Workers(ScheduledExecutorService clock, Processes processes) {
        this.clock = clock;
        this.ends = new ChildEnds(processes, this);
    }

    /** Threads of one kind. While the system has no thread to give, a task is tried again. */
    private final class Pool implements Executor {
        private final ExecutorService threads;

        private Pool(ExecutorService threads) {
            this.threads = threads;
        }

        @Override
        public void execute(Runnable task) {
            try {
                threads.execute(task);
            } catch (RejectedExecutionException e) {
                log.debug("closed: nothing is left to be done");
            } catch (OutOfMemoryError e) {
                complaints.write(more -> log.error(
                        "there is no thread for a server process; it is tried again: {}{}", e.getMessage(), more));
                Future<?> unused = clock.schedule(() -> execute(task), RETRY_MILLIS, TimeUnit.MILLISECONDS);
            }
        }
    }

    /**
     * Runs tasks that may block, on as many threads as that takes. A child that does not read its input holds one while something
     * is queued for it.
     */
    public Executor blocking() {
        return blocking;
    }

    /** Where processes are started: a few at a time. */
    public Executor starters() {
        return starters;
    }

    /** Runs a task that may block after a delay. */
    public Future<?> later(Runnable task, long delay, TimeUnit unit) {
        return clock.schedule(() -> blocking.execute(task), delay, unit);
    }

    /** Ends children: waits, signals and reports when nothing of them is left. */
    ChildEnds ends() {
        return ends;
    }

    InheritedEntries inherited() {
        return inherited;
    }

    ScheduledExecutorService clock() {
        return clock;
    }

    @Override
    public void close() {
        blocking.threads.shutdownNow();
        starters.threads.shutdownNow();
    }

    /**
     * Looks at a child now and then, until {@link Child#look} returns false. One thread looks at all of them: the JDK has no selector for
     * the pipes of processes, and starts a thread to tell of an exit.
     */
    void watch(Child child) {
        watched.add(child);
        watch();
    }

    private void watch() {
        if (!watched.isEmpty() && watching.compareAndSet(false, true)) {
            later(this::look, LEAST_PAUSE_NANOS, TimeUnit.NANOSECONDS);
        }
    }

    private void look() {
        long start = System.nanoTime();
        watched.removeIf(child -> !looked(child));
        if (watched.isEmpty()) {
            watching.set(false);
            watch();
        } else {
            long pause = PAUSE_FACTOR * (System.nanoTime() - start);
            later(this::look, Math.min(Math.max(pause, LEAST_PAUSE_NANOS), MOST_PAUSE_NANOS), TimeUnit.NANOSECONDS);
        }
    }

    private static boolean looked(Child child) {
        try {
            return child.look();
        } catch (RuntimeException e) {
            log.error("{}: could not be looked at", child.name(), e);
            return true;
        }
    }
}
