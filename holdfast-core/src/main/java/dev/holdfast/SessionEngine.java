package dev.holdfast;

import dev.holdfast.spi.Backend;
import dev.holdfast.spi.ExpiryClock;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The front door: opens sessions, finds them, and ends them all. One engine serves one backend. Built by {@link #builder},
 * started by {@link #start}; safe for use by any thread; nothing but {@link #close} blocks.
 */
public final class SessionEngine implements AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(SessionEngine.class);

    private final SessionTable sessions;
    private final Backend backend;
    private final MessageFactory messages;
    private final SessionStore store;
    private final SessionLimits limits;
    private final NodeLimits nodeLimits;
    private final EngineClock clock;
    private final InstantSource wallClock;
    private final ExpiryClock expiryClock;
    private final RandomGenerator random;
    private final ScheduledExecutorService scheduler;
    private final Duration sweepInterval;
    private final long parkNanos;
    private final boolean durable;
    private final Executor executor;
    private final Runnable releaseOwned;
    private final Drain drain = new Drain(this);
    private final News news;
    private final Capacity capacity;
    private final NodeHistory history;
    private final Opener opener;
    private volatile boolean storeWorks = true;
    private volatile Future<?> sweeping = CompletableFuture.completedFuture(null);

    SessionEngine(SessionEngineBuilder builder) {
        this.backend = builder.backend;
        this.messages = builder.messages;
        this.store = builder.store;
        this.limits = builder.limits;
        this.nodeLimits = builder.nodeLimits;
        this.sessions = new SessionTable(this, nodeLimits);
        this.capacity = new Capacity(this, nodeLimits);
        this.history = new NodeHistory(this, nodeLimits);
        this.clock = new EngineClock(builder.clock, builder.wallClock, builder.sweepInterval);
        this.wallClock = builder.wallClock;
        this.expiryClock = new ExpiryClock(builder.wallClock, builder.clock);
        this.opener = new Opener(this, sessions, capacity, drain);
        this.news = new News(builder.listener, builder.clock);
        this.random = builder.random;
        this.sweepInterval = builder.sweepInterval;
        this.executor = builder.executor;
        this.parkNanos = builder.parkAfter.toNanos();
        this.durable = store.promise().durability() != SessionStore.Durability.NOTHING;
        SessionEngineBuilder.Scheduling scheduling = builder.scheduling();
        this.scheduler = scheduling.scheduler();
        this.releaseOwned = scheduling.release();
    }

    /**
     * A builder with every default.
     *
     * @param backend what answers
     * @param messages how the engine's own few messages are written
     */
    public static SessionEngineBuilder builder(Backend backend, MessageFactory messages) {
        return new SessionEngineBuilder(backend, messages);
    }

    /** Starts to watch the time. Call it once. */
    public SessionEngine start() {
        news.promised(store.promise());
        long nanos = sweepInterval.toNanos();
        sweeping = scheduler.scheduleWithFixedDelay(this::sweep, nanos, nanos, TimeUnit.NANOSECONDS);
        return this;
    }

    /**
     * Opens a session and its backend.
     *
     * @param initialize the {@code initialize} request
     * @param principal who asks, empty for nobody; only the same principal finds the session again
     * @param lifetime how long it lives without a connection
     * @return completes when the backend has answered and the store has the session; fails on a fault of either
     */
    public CompletionStage<Opening> open(InboundMessage initialize, String principal, Lifetime lifetime) {
        return opener.open(initialize, principal, lifetime);
    }

    /**
     * Opens a session whose client initializes it later, by an {@code initialize} that is a call like any other. Everything
     * goes to its listening stream, the answers to calls too.
     *
     * @param principal who asks, empty for nobody; only the same principal finds the session again
     * @param lifetime how long it lives without a connection
     * @return completes when the store has the session; fails on a fault of the store
     */
    public CompletionStage<Opening> open(String principal, Lifetime lifetime) {
        return opener.open(principal, lifetime);
    }

    /**
     * Finds a session for a request, which counts as a sign of life. A session of another principal is not found, and neither
     * is one whose deadline has passed. One that is only in the store comes back into memory, and a fresh backend is opened for
     * it: once, however many requests ask for it.
     *
     * @return complete at once for a session in memory; fails with a {@link StoreUnavailableException} if the store failed
     */
    public CompletionStage<Finding> find(String id, String principal) {
        return sessions.find(id, principal);
    }

    /**
     * Ends a session for good, as {@link Session#terminate} does; one that waits in the store does not come back for that.
     *
     * @return whether there was one, when the store does not have it any more; fails if the store could not say so yet
     */
    public CompletionStage<Boolean> terminate(String id, String principal) {
        return sessions.terminate(id, principal);
    }

    /**
     * Sends a notification that is the server's own to one session, if it is in memory and initialized.
     *
     * @param notification a message without an id
     * @return completes when the session has it; fails if the store failed
     * @throws IllegalArgumentException if the message has an id
     */
    public CompletionStage<Void> announce(OutboundMessage notification, String id, String principal) {
        return sessions.inMemory(id, principal)
                .map(session -> announce(notification, List.of(session)))
                .orElse(SessionLog.DONE);
    }

    /**
     * Sends a notification that is the server's own, and of no session's backend: to sessions in memory that are initialized,
     * whether their backend is there or not. Each keeps it for its client like what its backend sends.
     *
     * @param notification a message without an id
     * @param to whether it is for a session
     * @return completes when every one of them has it or has ended; fails if the store failed for one, though others may have it
     * @throws IllegalArgumentException if the message has an id
     */
    public CompletionStage<Void> announce(OutboundMessage notification, Predicate<? super Session> to) {
        return announce(notification, sessions.live().stream().filter(to).toList());
    }

    private static CompletionStage<Void> announce(OutboundMessage notification, List<LiveSession> to) {
        if (notification.id() != null) {
            throw new IllegalArgumentException("only a notification can be announced, and this message has an id");
        }
        return CompletableFuture.allOf(to.stream()
                .filter(session -> !session.revision().isEmpty())
                .map(session -> session.outflow().tell(notification).toCompletableFuture())
                .toArray(CompletableFuture[]::new));
    }

    /** Whether the store took what it was given last. */
    boolean storeWorks() {
        return storeWorks;
    }

    void storeWorks(boolean works) {
        if (storeWorks != works) {
            storeWorks = works;
        }
    }

    /** How many sessions are in memory. */
    public int size() {
        return sessions.size();
    }

    /** What there is, and what was counted. */
    public EngineStats stats() {
        return news.stats(size(), sessions.parked(), running(), history);
    }

    /**
     * Counts something that was refused, and tells the listener. Whoever refuses calls it once.
     *
     * @param detail more about it for the log, or empty; it must not hold a credential
     */
    public void refused(Refusal reason, String detail) {
        news.refused(reason, detail);
    }

    /**
     * Hands over: takes no new sessions and calls, lets running calls end, ends every connection in order, then every
     * session; where the store outlives this process, sessions stay in it for the next one.
     *
     * @param timeout how long running calls may take, zero or more
     * @return completes when nothing is left, or some 12 s after {@code timeout} though a connection or a backend did not end; never
     *     fails
     */
    public CompletionStage<Void> drain(Duration timeout) {
        return drain.begin(timeout);
    }

    /** Whether {@link #drain} has begun. */
    public boolean draining() {
        return drain.begun();
    }

    /** Drains without patience for running calls, and waits until nothing is left. */
    @Override
    public void close() {
        drain.begin(Duration.ZERO).toCompletableFuture().join();
        sweeping.cancel(false);
        releaseOwned.run();
    }

    /** The clock that all deadlines follow, in nanoseconds; only differences mean something. */
    public LongSupplier clock() {
        return clock::now;
    }

    /** Where timed work runs. */
    public ScheduledExecutorService scheduler() {
        return scheduler;
    }

    /** Whether connections are sent to the successor of this server. */
    boolean handingOver() {
        return drain.handingOver();
    }

    private void sweep() {
        long now = clock.look();
        guarded("capacity", capacity::sweep);
        guarded("parked sessions", () -> sessions.sweep(now));
        for (LiveSession session : sessions.live()) {
            guarded(session.shortId(), () -> session.housekeeping().sweep(now));
        }
    }

    /** Whatever fails, time has to go on for the others: the scheduler does not repeat what threw once. */
    private static void guarded(String what, Runnable sweep) {
        try {
            sweep.run();
        } catch (RuntimeException | Error e) {
            logger.error("{}: could not be swept", what, e);
        }
    }

    /** Does something later, on the scheduler. */
    void later(Runnable task, long millis) {
        Future<?> unused = scheduler.schedule(task, millis, TimeUnit.MILLISECONDS);
    }

    long now() {
        return clock.now();
    }

    /** What deadlines follow. */
    EngineClock time() {
        return clock;
    }

    InstantSource wallClock() {
        return wallClock;
    }

    /** The clock by which a record has expired. */
    ExpiryClock expiryClock() {
        return expiryClock;
    }

    Iterable<LiveSession> all() {
        return sessions.live();
    }

    SessionTable sessions() {
        return sessions;
    }

    Opener opener() {
        return opener;
    }

    /** Whether the store outlives this process. */
    boolean durable() {
        return durable;
    }

    /** Whether a session of this lifetime does. */
    boolean outlives(Lifetime lifetime) {
        return durable && !lifetime.grace().isZero();
    }

    /** Does something elsewhere, where it may block; false if nobody does it. */
    boolean elsewhere(Runnable task) {
        try {
            executor.execute(task);
            return true;
        } catch (RuntimeException | OutOfMemoryError e) {
            // there may be too many threads, or an executor that is full
            logger.error("nobody does what has to be done for a session that came back", e);
            return false;
        }
    }

    /** Whether a session in this state has waited long enough for its client, and may as well wait in the store. */
    boolean waitsInStore(Lifecycle.State state, long now) {
        return durable
                && state.phase() == SessionState.DETACHED
                && !state.held()
                && clock.passed(parkNanos, state.since(), now);
    }

    /** A session has closed, and leaves its place. */
    void leaves(LiveSession session) {
        sessions.leaves();
        capacity.release(session.principal());
    }

    /** Nothing is left of a session. */
    void ended() {
        drain.sessionEnded();
    }

    /** Nothing is left of a session that was not opened. */
    void abandoned(LiveSession session) {
        capacity.release(session.principal());
        drain.sessionEnded();
    }

    /** A call of so many requests has started. */
    void callStarted(int requests) {
        drain.running(requests);
    }

    void callEnded(int requests) {
        drain.running(-requests);
    }

    /** How many requests run. */
    int running() {
        return drain.running();
    }

    /** A backend is on its way out; a drain waits for it. */
    void closing(CompletionStage<Void> backend) {
        drain.closing(backend);
    }

    News news() {
        return news;
    }

    Backend backend() {
        return backend;
    }

    MessageFactory messages() {
        return messages;
    }

    SessionStore store() {
        return store;
    }

    SessionLimits limits() {
        return limits;
    }

    NodeHistory history() {
        return history;
    }

    NodeLimits nodeLimits() {
        return nodeLimits;
    }

    RandomGenerator random() {
        return random;
    }

    /** How opening a session ended. */
    public sealed interface Opening {}

    /**
     * The session is there.
     *
     * @param session the session
     * @param response the {@code initialize} response for the client
     */
    public record Opened(Session session, OutboundMessage response) implements Opening {}

    /**
     * The session is there, and its client has to initialize it.
     *
     * @param session the session
     */
    public record Awaiting(Session session) implements Opening {}

    /**
     * The backend refused; nothing is left of it.
     *
     * @param response the error response for the client
     */
    public record Refused(OutboundMessage response) implements Opening {}

    /** What came of looking for a session. */
    public sealed interface Finding {}

    /**
     * The session is there.
     *
     * @param session the session
     */
    public record Found(Session session) implements Finding {}

    /** There is no such session for this principal. */
    public record Missing() implements Finding {}

    /**
     * No session is opened, or comes back from the store, now.
     *
     * @param reason why
     */
    public record Unavailable(Refusal reason) implements Opening, Finding {}
}
