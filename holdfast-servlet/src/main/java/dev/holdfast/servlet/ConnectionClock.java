package dev.holdfast.servlet;

import java.time.Duration;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The time of all connections, and of the bodies on their way: one task that looks at each every few milliseconds. A look costs a few nanoseconds, a timer of
 * its own would cost every connection more.
 */
final class ConnectionClock {
    private static final Logger log = LoggerFactory.getLogger(ConnectionClock.class);
    private static final long TICK_MILLIS = 20;
    /** How long the head of a call's stream waits for the call's first message, to be one write with it. */
    private static final long HEAD_MILLIS = 4;

    private static final long HEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(HEAD_MILLIS);
    private static final double JITTER = 0.1;
    private static final int WRITERS = 4;
    private static final long WRITERS_IDLE_SECONDS = 10;

    private final Set<SseConnection> connections = ConcurrentHashMap.newKeySet();
    private final Set<BodyArrival> arrivals = ConcurrentHashMap.newKeySet();
    private final Queue<Unopened> unopened = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean openingArmed = new AtomicBoolean();
    private final AtomicReference<@Nullable ScheduledFuture<?>> task = new AtomicReference<>();
    private final EdgeOptions options;
    private final LongSupplier clock;
    private final ScheduledExecutorService scheduler;
    private final ThreadPoolExecutor writers;

    /** A connection whose head is not written, and since when. */
    private record Unopened(SseConnection connection, long since) {}

    ConnectionClock(EdgeOptions options, LongSupplier clock, ScheduledExecutorService scheduler) {
        this.options = options;
        this.clock = clock;
        this.scheduler = scheduler;
        this.writers = new ThreadPoolExecutor(
                WRITERS, WRITERS, WRITERS_IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                    Thread thread = new Thread(task, "holdfast-head");
                    thread.setDaemon(true);
                    return thread;
                });
        writers.allowCoreThreadTimeOut(true);
    }

    void start() {
        task.set(scheduler.scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS));
    }

    void stop() {
        ScheduledFuture<?> running = task.getAndSet(null);
        if (running != null) {
            running.cancel(false);
        }
        writers.shutdown();
    }

    /**
     * Runs something that may block for a moment, on a thread of our own: the container's refuse loudly what comes after the end
     * of a response, and the JVM's common pool belongs to the application, which may block it for long.
     */
    void execute(Runnable work) {
        writers.execute(work);
    }

    private void tick() {
        long now = now();
        for (SseConnection connection : connections) {
            try {
                connection.tick(now);
            } catch (RuntimeException e) {
                log.error("a connection failed on its clock", e);
            }
        }
        arrivals.forEach(arrival -> arrival.tick(now));
    }

    void add(SseConnection connection) {
        connections.add(connection);
    }

    /** Has the head of a new connection written in a few milliseconds, if nothing comes before that carries it along. */
    void openSoon(SseConnection connection) {
        unopened.add(new Unopened(connection, now()));
        armOpening();
    }

    private void armOpening() {
        if (!unopened.isEmpty() && openingArmed.compareAndSet(false, true)) {
            scheduler.schedule(this::openDue, HEAD_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void openDue() {
        openingArmed.set(false);
        long now = now();
        Unopened first = unopened.peek();
        while (first != null && now - first.since() >= HEAD_NANOS) {
            unopened.poll();
            first.connection().headDue();
            first = unopened.peek();
        }
        armOpening();
    }

    /** Does something later, on the scheduler. */
    void later(Runnable task, long millis) {
        Future<?> unused = scheduler.schedule(task, millis, TimeUnit.MILLISECONDS);
    }

    void remove(SseConnection connection) {
        connections.remove(connection);
    }

    void add(BodyArrival arrival) {
        arrivals.add(arrival);
    }

    void remove(BodyArrival arrival) {
        arrivals.remove(arrival);
    }

    /** How many connections are open. */
    int size() {
        return connections.size();
    }

    long now() {
        return clock.getAsLong();
    }

    Duration retry() {
        return options.retryInterval();
    }

    long retryMillis() {
        return options.retryInterval().toMillis();
    }

    long heartbeatNanos() {
        return options.heartbeatInterval().toNanos();
    }

    /** How long a body may take to arrive. */
    long requestNanos() {
        return options.requestDeadline().toNanos();
    }

    Duration stallDeadline() {
        return options.stallDeadline();
    }

    long stallNanos() {
        return options.stallDeadline().toNanos();
    }

    /** A maximum age a little below the configured one, so that connections opened together do not end together; 0 for none. */
    long jitteredMaxAge() {
        double share = 1 - JITTER * ThreadLocalRandom.current().nextDouble();
        return (long) (options.maxConnectionAge().toNanos() * share);
    }
}
