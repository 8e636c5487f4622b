package dev.holdfast.servlet.io;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A few threads for work that may block for a moment. Threads of the container log an error for work after the end of a
 * response, and the common pool of the JVM belongs to the application, which may block it for long.
 */
public final class BlockingPool {
    private static final Logger log = LoggerFactory.getLogger(BlockingPool.class);
    private static final int FEW = 4;
    private static final long IDLE_SECONDS = 10;
    private static final long FAILED_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final ThreadPoolExecutor threads;
    private final int most;
    private final AtomicInteger open = new AtomicInteger();
    private volatile long failedUntil = System.nanoTime();

    private final class Worker extends Thread {
        private Worker(Runnable task, String name) {
            super(task, name);
        }

        private boolean of(BlockingPool pool) {
            return pool == BlockingPool.this;
        }
    }

    /** Four threads of a name, for which at most so many tasks wait. */
    public BlockingPool(String name, int queue) {
        this(name, FEW, queue);
    }

    /** At most so many threads of a name, for which at most so many tasks wait. */
    public BlockingPool(String name, int most, int queue) {
        this.most = most;
        this.threads = new ThreadPoolExecutor(
                most, most, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(queue), task -> {
                    Thread thread = new Worker(task, name);
                    thread.setDaemon(true);
                    return thread;
                });
        threads.allowCoreThreadTimeOut(true);
    }

    /** Runs work on one of the threads; false if too much work waits, after {@link #stop}, or if no thread can be created. */
    public boolean offer(Runnable work) {
        open.incrementAndGet();
        try {
            threads.execute(() -> run(work));
            return true;
        } catch (RejectedExecutionException e) {
            open.decrementAndGet();
            return false;
        } catch (OutOfMemoryError e) {
            open.decrementAndGet();
            if (!failedLately()) {
                log.error("there is no thread for work that may block", e);
            }
            failedUntil = System.nanoTime() + FAILED_NANOS;
            return false;
        }
    }

    /** Whether work that is offered now begins at once, as far as one can tell. */
    public boolean free() {
        return open.get() < most && !threads.isShutdown() && !failedLately();
    }

    /** Whether no thread could be created a moment ago. */
    private boolean failedLately() {
        return System.nanoTime() - failedUntil < 0;
    }

    /** Whether the current thread is one of these. */
    public boolean here() {
        return Thread.currentThread() instanceof Worker worker && worker.of(this);
    }

    private void run(Runnable work) {
        try {
            work.run();
        } catch (Throwable e) {
            log.error("work that may block failed", e);
        } finally {
            open.decrementAndGet();
        }
    }

    /** Ends the threads when their work is done. */
    public void stop() {
        threads.shutdown();
    }
}
