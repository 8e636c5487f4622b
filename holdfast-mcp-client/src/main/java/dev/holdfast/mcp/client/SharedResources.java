package dev.holdfast.mcp.client;

import java.lang.ref.WeakReference;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** What all transports of a JVM share, so that none of them costs a thread. The threads end when nobody has needed them for a while. */
final class SharedResources {
    private static final long IDLE_SECONDS = 30;
    private static final ClassLoader OWN = SharedResources.class.getClassLoader();
    private static final int WORKERS = Math.max(4, 2 * Runtime.getRuntime().availableProcessors());
    private static final ScheduledExecutorService CLOCK = newClock();
    private static final Executor HTTP = pool("http", WORKERS, WORKERS, new LinkedBlockingQueue<>());

    /**
     * Not Reactor's {@code boundedElastic}: applications wait there for the answers that are handed over here, and as many as it has
     * threads would wait for ever. A stream has one task at a time.
     */
    private static final Executor DELIVERY = pool("delivery", 0, Integer.MAX_VALUE, new SynchronousQueue<>());

    private static final Map<Duration, WeakReference<HttpClient>> clients = new HashMap<>();

    private SharedResources() {}

    private static ScheduledExecutorService newClock() {
        ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1, daemons("clock"));
        clock.setRemoveOnCancelPolicy(true);
        clock.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
        clock.allowCoreThreadTimeOut(true);
        return clock;
    }

    private static Executor pool(String name, int least, int most, BlockingQueue<Runnable> queue) {
        ThreadPoolExecutor pool =
                new ThreadPoolExecutor(least, most, IDLE_SECONDS, TimeUnit.SECONDS, queue, daemons(name));
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    private static ThreadFactory daemons(String name) {
        AtomicInteger number = new AtomicInteger();
        return task -> {
            // nothing of the application that needs it first: others may need it when that one is gone
            Thread thread =
                    new Thread(null, task, "holdfast-client-" + name + "-" + number.incrementAndGet(), 0, false);
            thread.setContextClassLoader(OWN);
            thread.setDaemon(true);
            return thread;
        };
    }

    /** Runs what is due later. */
    static ScheduledExecutorService clock() {
        return CLOCK;
    }

    /** Runs the application's handlers, which should not block, but may, under the context class loader of this method's caller. */
    static Executor delivery() {
        ClassLoader application = Thread.currentThread().getContextClassLoader();
        return task -> DELIVERY.execute(() -> {
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
    static synchronized HttpClient http(Duration connectTimeout) {
        WeakReference<HttpClient> known = clients.get(connectTimeout);
        @Nullable HttpClient client = known == null ? null : known.get();
        if (client == null) {
            client = HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .connectTimeout(connectTimeout)
                    .executor(HTTP)
                    .build();
            clients.values().removeIf(gone -> gone.get() == null);
            clients.put(connectTimeout, new WeakReference<>(client));
        }
        return client;
    }
}
