package dev.holdfast.redis;

import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * The threads on which stages of the store complete, so that whoever goes on there holds up no connection. What belongs to one
 * session, or to one node, completes on one thread, in the order of the answers.
 */
final class Completions implements AutoCloseable {
    private static final AtomicInteger count = new AtomicInteger();

    private final List<ExecutorService> threads;

    Completions(int size) {
        ThreadFactory daemons = work -> {
            Thread thread = new Thread(work, "holdfast-redis-" + count.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
        threads = Stream.generate(() -> single(daemons)).limit(size).toList();
    }

    /** Once it is closed, completions run where they are told. */
    private static ExecutorService single(ThreadFactory factory) {
        ThreadPoolExecutor thread = new ThreadPoolExecutor(
                1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory, (task, pool) -> task.run());
        // the threads start now: a stage must complete also when the system has no more threads to give
        thread.prestartCoreThread();
        return thread;
    }

    Executor of(Object owner) {
        return threads.get(Math.floorMod(owner.hashCode(), threads.size()));
    }

    @Override
    public void close() {
        threads.forEach(ExecutorService::shutdown);
    }
}
