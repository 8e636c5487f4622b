package dev.holdfast.servlet;

import java.time.Duration;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadLocalRandom;
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
    private static final int MAX_WAITING = 256;
    private static final long COMPLAINT_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Set<SseConnection> connections = ConcurrentHashMap.newKeySet();
    private final Set<BodyArrival> arrivals = ConcurrentHashMap.newKeySet();
    private final Queue<Unopened> unopened = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean openingArmed = new AtomicBoolean();
    private final AtomicReference<@Nullable ScheduledFuture<?>> task = new AtomicReference<>();
    private final EdgeOptions options;
    private final LongSupplier clock;
    private final ScheduledExecutorService scheduler;
    // apart, since a client that does not read its answer holds a thread for as long as the container lets it
    private final Writers heads = new Writers("holdfast-head", Integer.MAX_VALUE);
    private final Writers openings = new Writers("holdfast-open", Integer.MAX_VALUE);
    private final Writers refusals = new Writers("holdfast-refusal", MAX_WAITING);
    private final Writers acceptances = new Writers("holdfast-accept", MAX_WAITING);

    private volatile long complained;

    /** A connection whose head is not written, and since when. */
    private record Unopened(SseConnection connection, long since) {}

    ConnectionClock(EdgeOptions options, LongSupplier clock, ScheduledExecutorService scheduler) {
        this.options = options;
        this.clock = clock;
        this.scheduler = scheduler;
        this.complained = System.nanoTime() - COMPLAINT_NANOS;
    }

    void start() {
        task.set(scheduler.scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS));
    }

    void stop() {
        ScheduledFuture<?> running = task.getAndSet(null);
        if (running != null) {
            running.cancel(false);
        }
        heads.stop();
        openings.stop();
        refusals.stop();
        acceptances.stop();
    }

    /** Writes the head of a stream on a thread of our own, which it may block; false after the end, and where there is no thread. */
    boolean writeHead(Runnable head) {
        return heads.offer(head);
    }

    /** The same where it does not block. */
    void openNow(Runnable head) {
        openings.offer(head);
    }

    /** Whether this thread writes heads. */
    boolean writesHeads() {
        return heads.here();
    }

    /** Answers a request whose body is overdue, on a thread of our own; false if too many such answers wait already. */
    boolean refuse(Runnable answer) {
        return refusals.offer(answer);
    }

    /** Answers a POST whose thread is busy after a while, on a thread of our own, unless too many such answers wait already. */
    void acceptSoon(Runnable answer, long millis) {
        later(() -> acceptances.offer(answer), millis);
    }

    /** A scheduler forgets a periodic task that fails once: whatever happens to one item, the others have their time. */
    private void tick() {
        guarded(() -> {
            long now = now();
            connections.forEach(connection -> guarded(() -> connection.tick(now)));
            arrivals.forEach(arrival -> guarded(() -> arrival.tick(now)));
        });
    }

    private void guarded(Runnable look) {
        try {
            look.run();
        } catch (Throwable e) {
            complain(e);
        }
    }

    /** What fails may fail again at each tick, for each item: one line in a while is enough. */
    private void complain(Throwable failure) {
        long now = System.nanoTime();
        if (now - complained >= COMPLAINT_NANOS) {
            complained = now;
            log.error("something failed on the clock of the connections", failure);
        }
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
            guarded(first.connection()::headDue);
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
