package dev.holdfast.mcp.client;

import java.lang.ref.WeakReference;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** What all transports of a JVM share, so that none of them costs a thread. The threads end when nobody has needed them for a while. */
final class SharedMeans {
    private static final long IDLE_SECONDS = 30;
    private static final ClassLoader OWN = SharedMeans.class.getClassLoader();
    private static final ReentrantLock lock = new ReentrantLock();
    private static final Map<Duration, WeakReference<HttpClient>> clients = new HashMap<>();

    private SharedMeans() {}

    /** Runs what is due later. */
    static ScheduledExecutorService clock() {
        return Clock.SHARED;
    }

    /** Runs the application's handlers, which should not block, but may; under the context class loader of whoever asks for it here. */
    static Executor delivery() {
        ClassLoader application = Thread.currentThread().getContextClassLoader();
        return task -> Delivery.SHARED.execute(() -> {
            Thread thread = Thread.currentThread();
            thread.setContextClassLoader(application);
            try {
                task.run();
            } finally {
                thread.setContextClassLoader(OWN);
            }
        });
    }

    /** The client of all transports that set nothing but this time. */
    static HttpClient http(Duration connectTimeout) {
        lock.lock();
        try {
            WeakReference<HttpClient> known = clients.get(connectTimeout);
            @Nullable HttpClient client = known == null ? null : known.get();
            if (client == null) {
                client = HttpClient.newBuilder()
                        .version(HttpClient.Version.HTTP_1_1)
                        .connectTimeout(connectTimeout)
                        .executor(Workers.SHARED)
                        .build();
                clients.values().removeIf(gone -> gone.get() == null);
                clients.put(connectTimeout, new WeakReference<>(client));
            }
            return client;
        } finally {
            lock.unlock();
        }
    }

    private static ThreadFactory daemons(String name) {
        AtomicInteger number = new AtomicInteger();
        return task -> {
            // nothing of the application that needs it first: others may need it when that one is gone
            Thread thread = new Thread(null, task, name + number.incrementAndGet(), 0, false);
            thread.setContextClassLoader(OWN);
            thread.setDaemon(true);
            return thread;
        };
    }

    /** Made when the first transport needs it. */
    private static final class Clock {
        private static final ScheduledExecutorService SHARED = clock();

        private static ScheduledExecutorService clock() {
            ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1, daemons("holdfast-client-clock-"));
            clock.setRemoveOnCancelPolicy(true);
            clock.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
            clock.allowCoreThreadTimeOut(true);
            return clock;
        }
    }

    /**
     * Made when the first transport needs it. Not Reactor's {@code boundedElastic}: applications wait there for the answers that are
     * handed over here, and as many as it has threads would wait for ever. A stream has one task at a time.
     */
    private static final class Delivery {
        private static final Executor SHARED = new ThreadPoolExecutor(
                0,
                Integer.MAX_VALUE,
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                new SynchronousQueue<>(),
                daemons("holdfast-client-delivery-"));
    }

    /** Made when the first transport without an HTTP client of its own needs it. */
    private static final class Workers {
        private static final Executor SHARED = workers();

        private static Executor workers() {
            int threads = Math.max(4, 2 * Runtime.getRuntime().availableProcessors());
            ThreadPoolExecutor workers = new ThreadPoolExecutor(
                    threads,
                    threads,
                    IDLE_SECONDS,
                    TimeUnit.SECONDS,
                    new LinkedBlockingQueue<>(),
                    daemons("holdfast-client-http-"));
            workers.allowCoreThreadTimeOut(true);
            return workers;
        }
    }
}
