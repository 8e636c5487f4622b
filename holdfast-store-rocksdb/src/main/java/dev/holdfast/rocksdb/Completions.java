package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Completes the stages that were not complete at once, on threads of its own, so that the writer goes on writing. The stages
 * of one session complete on one thread, in order.
 */
final class Completions implements AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(Completions.class);
    private static final int MOST = 4;
    private static final long PATIENCE_SECONDS = 10;

    private final List<ExecutorService> threads = new ArrayList<>();

    Completions(int processors) {
        int count = Math.max(1, Math.min(MOST, processors / 2));
        for (int i = 0; i < count; i++) {
            ThreadPoolExecutor thread = new ThreadPoolExecutor(
                    1,
                    1,
                    0,
                    TimeUnit.SECONDS,
                    new LinkedBlockingQueue<>(),
                    StoreThreads.named("holdfast-store-done-" + i));
            // the threads start now: a stage must complete also when the system has no more threads to give
            thread.prestartCoreThread();
            threads.add(thread);
        }
    }

    void run(SessionKey session, Runnable completion) {
        try {
            threads.get((int) Math.floorMod(session.b(), (long) threads.size())).execute(completion);
        } catch (RejectedExecutionException e) {
            // the store is closed, and whoever waits must know all the same
            completion.run();
        }
    }

    /** Waits until everybody knows. */
    @Override
    public void close() {
        threads.forEach(ExecutorService::shutdown);
        for (ExecutorService thread : threads) {
            if (!StoreThreads.ended(thread, PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                logger.warn("somebody who waited for the session store does not return");
            }
        }
    }
}
