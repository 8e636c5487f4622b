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

    private final ExecutorService blocking = Executors.newCachedThreadPool(DaemonThreads.numbered("holdfast-child-"));
    private final ExecutorService starters =
            Executors.newFixedThreadPool(STARTERS, DaemonThreads.numbered("holdfast-process-"));
    private final LogThrottle complaints = new LogThrottle(1, System::nanoTime);
    private final ScheduledExecutorService clock;
    private final ChildWatch watch = new ChildWatch(this);
    private final ChildEnds ends;
    private final InheritedEntries inherited = new InheritedEntries();

    /**
     * Threads beside a clock.
     *
     * @param clock stays the caller's
     * @param processes by what the children are ended
     */
    public Workers(ScheduledExecutorService clock, Processes processes) {
        this.clock = clock;
        this.ends = new ChildEnds(processes, this);
    }

    /**
     * Runs tasks that may block, on as many threads as that takes. A child that does not read its input holds one while something
     * is queued for it.
     */
    public Executor blocking() {
        return task -> offer(blocking, task);
    }

    /** Where processes are started: a few at a time. */
    public Executor starters() {
        return task -> offer(starters, task);
    }

    /** While the system has no thread to give, what was to be done is tried again. */
    private void offer(ExecutorService pool, Runnable task) {
        try {
            pool.execute(task);
        } catch (RejectedExecutionException e) {
            log.debug("closed: nothing is left to be done");
        } catch (OutOfMemoryError e) {
            complaints.write(more -> log.error(
                    "there is no thread for a server process; it is tried again: {}{}", e.getMessage(), more));
            Future<?> unused = clock.schedule(() -> offer(pool, task), RETRY_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    /** Watches the error output and the exits of all children. */
    ChildWatch watch() {
        return watch;
    }

    /** Ends children: waits, signals and reports when nothing of them is left. */
    ChildEnds ends() {
        return ends;
    }

    /** Frees what the kernel keeps for the files that new children inherit. */
    public InheritedEntries inherited() {
        return inherited;
    }

    /** Runs tasks at a later time. */
    public ScheduledExecutorService clock() {
        return clock;
    }

    @Override
    public void close() {
        blocking.shutdownNow();
        starters.shutdownNow();
    }

    /**
     * Looks now and then whether a child has written to its error output, or has exited: one thread for all of them. The JDK has no
     * selector for the pipes of processes, and starts a thread to tell of an exit. Thread-safe.
     */
    static final class ChildWatch {
        private static final Logger log = LoggerFactory.getLogger(ChildWatch.class);
        private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
        private static final long MOST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
        /** The pause after a look is this many times as long as the look: looking takes a hundredth of a processor. */
        private static final long PAUSE_FACTOR = 100;

        private final Workers workers;
        private final Set<Watched> all = ConcurrentHashMap.newKeySet();
        private final AtomicBoolean watching = new AtomicBoolean();

        /** Something to be watched. */
        interface Watched {
            /** Looks without blocking; false ends the watch. */
            boolean look();
        }

        ChildWatch(Workers workers) {
            this.workers = workers;
        }

        /** Watches until {@link Watched#look} returns false. */
        void add(Watched watched) {
            all.add(watched);
            begin();
        }

        private void begin() {
            if (!all.isEmpty() && watching.compareAndSet(false, true)) {
                again(LEAST_PAUSE_NANOS);
            }
        }

        private void again(long pauseNanos) {
            workers.clock().schedule(() -> workers.blocking().execute(this::look), pauseNanos, TimeUnit.NANOSECONDS);
        }

        private void look() {
            long start = System.nanoTime();
            all.removeIf(watched -> !looked(watched));
            if (all.isEmpty()) {
                watching.set(false);
                begin();
            } else {
                long took = System.nanoTime() - start;
                again(Math.min(Math.max(PAUSE_FACTOR * took, LEAST_PAUSE_NANOS), MOST_PAUSE_NANOS));
            }
        }

        private static boolean looked(Watched watched) {
            try {
                return watched.look();
            } catch (RuntimeException e) {
                log.error("a server process could not be looked at", e);
                return true;
            }
        }
    }
}
