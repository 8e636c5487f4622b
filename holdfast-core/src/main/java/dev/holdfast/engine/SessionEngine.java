package dev.holdfast.engine;

import dev.holdfast.ByteBudget;
import dev.holdfast.EngineStats;
import dev.holdfast.Finding;
import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.Opening;
import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionDescription;
import dev.holdfast.SessionLifecycleListener.TaskEvent;
import dev.holdfast.SessionState;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.Termination;
import dev.holdfast.WriteStall;
import dev.holdfast.log.EngineClock;
import dev.holdfast.log.SessionLog;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.Telemetry;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.ExpiryClock;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The front door: opens sessions, finds them, and ends them all. One engine serves one backend. Built by {@link #builder},
 * started by {@link #start}; safe for use by any thread; nothing but {@link #close} blocks.
 */
public final class SessionEngine implements AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(SessionEngine.class);

    private final SessionStore store;
    private final NodeLimits limits;
    private final ByteBudget budget;
    private final EngineClock clock;
    private final ScheduledExecutorService scheduler;
    private final Runnable releaseOwned;
    private final Duration sweepInterval;
    private final long parkNanos;
    private final Telemetry telemetry;
    private final LiveSessions live;
    private final NodeMemory memory;
    private final Drain drain;
    private final EngineHost host;
    private final SessionRegistry registry;
    private volatile Future<?> sweeping = CompletableFuture.completedFuture(null);

    SessionEngine(SessionEngineBuilder builder) {
        this.store = builder.store;
        this.limits = builder.nodeLimits;
        this.budget = builder.budget;
        this.sweepInterval = builder.sweepInterval;
        this.parkNanos = builder.parkAfter.toNanos();
        this.clock = new EngineClock(builder.clock, builder.wallClock, builder.sweepInterval);
        this.telemetry = new Telemetry(builder.serverName, builder.listener, builder.calls, builder.clock);
        SessionEngineBuilder.Scheduling scheduling = builder.scheduling();
        this.scheduler = scheduling.scheduler();
        this.releaseOwned = scheduling.release();
        this.live = new LiveSessions(limits);
        ParkedSessions parked = new ParkedSessions(limits);
        // the end of a connection that has no place makes room for nobody
        boolean hasPlaces = builder.backend.mostConnections() != Integer.MAX_VALUE;
        this.memory = new NodeMemory(
                live,
                limits,
                budget,
                builder.group,
                principal -> hasPlaces && live.releaseBackend(principal, clock.now()));
        this.drain = new Drain(live, clock, scheduler);
        this.host =
                new EngineHost(builder, scheduler, clock, telemetry, live, parked, memory, drain, this::terminateAny);
        ClusterMembership cluster = host.cluster();
        ExpiryClock expiry = new ExpiryClock(builder.storeClock(), builder.clock);
        this.registry = new SessionRegistry(host, cluster, live, parked, expiry);
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
        host.cluster().start();
        telemetry.promised(store.promise());
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
        return registry.open(initialize, principal, lifetime, SessionRecord.SESSION);
    }

    /**
     * Opens a session that no client knows ({@link SessionRecord#CARRIER}) and its backend: for requests that name no session.
     *
     * @param initialize the {@code initialize} request
     * @param principal for whom, empty for nobody; only the same principal finds the session again
     * @param lifetime how long it lives without a connection
     * @return as the other one has it
     */
    public CompletionStage<Opening> openCarrier(InboundMessage initialize, String principal, Lifetime lifetime) {
        return registry.open(initialize, principal, lifetime, SessionRecord.CARRIER);
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
        return registry.open(principal, lifetime);
    }

    /**
     * Finds a session for a request, which counts as a sign of life. A session of another principal is not found, and neither
     * is one whose deadline has passed. One that is only in the store comes back into memory, and a fresh backend is opened for
     * it: once, however many requests ask for it.
     *
     * @return complete at once for a session in memory; fails with a {@link StoreUnavailableException} if the store failed
     */
    public CompletionStage<Finding> find(String id, String principal) {
        return registry.find(id, principal);
    }

    /**
     * Ends a session for good, as {@link Session#terminate} does; one that waits in the store does not come back for that. One that
     * {@link Session#listensOnly} ends with its connection, and one that no client knows by itself: they are not found here.
     *
     * @return whether there was one, when the store does not have it any more; fails if the store could not say so yet
     */
    public CompletionStage<Boolean> terminate(String id, String principal) {
        return registry.terminate(id, principal, SessionRecord.SESSION::equals);
    }

    /**
     * The sessions in memory that have not ended, in no order, each as it is when the stream comes to it. Take no more of them than
     * you need: for each the stream takes and releases that session's lock, and never holds one.
     */
    public Stream<SessionDescription> sessions() {
        return open().map(LiveSession::described);
    }

    /** Those of them whose shortened id is this, with their streams; hardly ever more than one. */
    public Stream<SessionDescription.InDetail> sessions(String shortId) {
        return open().filter(session -> session.shortId().equals(shortId)).map(LiveSession::inDetail);
    }

    /**
     * The sessions that have left memory and wait in the store, in no order, as far as {@link EngineStats#parked} counts them. To look at
     * them brings none back.
     */
    public Stream<SessionDescription.Parked> parkedSessions() {
        return registry.parkedSessions();
    }

    /** Ends a session for good whoever owns it: as {@link #terminate(String, Predicate)} does. */
    public CompletionStage<Termination> terminate(String shortId) {
        return terminate(shortId, anybody -> true);
    }

    /**
     * Ends a session for good, as {@link Session#terminate} does: one in memory, or one that {@link #parkedSessions} has, which does not
     * come back for that.
     *
     * @param shortId the first eight characters of its id, as {@link SessionDescription#shortId} has them
     * @param owner whether the session of this principal may end; others are not found
     * @return completes when the store does not have it any more; fails if the store could not say so yet
     */
    public CompletionStage<Termination> terminate(String shortId, Predicate<String> owner) {
        List<LiveSession> named = open().filter(session -> session.shortId().equals(shortId))
                .filter(session -> owner.test(session.principal()))
                .limit(2)
                .toList();
        return switch (named.size()) {
            case 0 -> registry.terminateParked(shortId, owner);
            case 1 -> named.get(0).terminate().thenApply(done -> Termination.ENDED);
            default -> CompletableFuture.completedFuture(Termination.AMBIGUOUS);
        };
    }

    private Stream<LiveSession> open() {
        return live.all().stream().filter(session -> session.state() != SessionState.CLOSED);
    }

    /**
     * Sends a notification that is the server's own to one session, if it is in memory and initialized.
     *
     * @param notification a message without an id
     * @return completes when the session has it; fails if the store failed
     * @throws IllegalArgumentException if the message has an id
     */
    public CompletionStage<Void> announce(OutboundMessage notification, String id, String principal) {
        requireNotification(notification);
        return live.get(SessionKey.of(id, principal))
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
        return announce(notification, live.all().stream().filter(to).toList());
    }

    private static void requireNotification(OutboundMessage message) {
        if (message.id() != null) {
            throw new IllegalArgumentException("only a notification can be announced, and this message has an id");
        }
    }

    private static CompletionStage<Void> announce(OutboundMessage notification, List<LiveSession> to) {
        requireNotification(notification);
        return CompletableFuture.allOf(to.stream()
                .filter(session -> !session.revision().isEmpty())
                .map(session -> session.tell(notification).toCompletableFuture())
                .toArray(CompletableFuture[]::new));
    }

    /** How many sessions are in memory. */
    public int size() {
        return live.size();
    }

    /** What there is, and what was counted. */
    public EngineStats stats() {
        Telemetry.Held held = new Telemetry.Held(
                size(),
                states(),
                sum(session -> session.kind().equals(SessionRecord.CARRIER) ? 1 : 0),
                sum(session -> session.lifecycle().state().readers()),
                registry.parked(),
                live.running(),
                memory.bytes(),
                memory.events(),
                memory.allDropped());
        return telemetry.stats(held);
    }

    /** How many sessions there are in each state. */
    private Map<SessionState, Integer> states() {
        Map<SessionState, Integer> states = new EnumMap<>(SessionState.class);
        for (SessionState state : SessionState.values()) {
            if (state != SessionState.CLOSED) {
                states.put(state, 0);
            }
        }
        live.all().forEach(session -> states.computeIfPresent(session.state(), (state, count) -> count + 1));
        return states;
    }

    private int sum(ToIntFunction<LiveSession> each) {
        return live.all().stream().mapToInt(each).sum();
    }

    /**
     * Counts something that was refused, and tells the listener. Whoever refuses calls it once.
     *
     * @param detail more about it for the log, or empty; it must not hold a credential
     */
    public void refused(Refusal reason, String detail) {
        telemetry.refused(reason, detail);
    }

    /** Counts what happened to a call of a session whose client has a handle, and tells the listener. */
    public void task(Session session, TaskEvent event) {
        telemetry.task(session.id(), event);
    }

    /** Counts a connection of the edge whose peer takes no bytes. */
    public void stalled(WriteStall kind) {
        telemetry.stalled(kind);
    }

    /**
     * Hands over: takes no new sessions and calls, lets running calls end, ends every connection in order, then every
     * session; where the store outlives this process, sessions stay in it for the next one.
     *
     * @param timeout how long running calls may take; zero or less for no time. Only that of the first drain counts: a later one has the
     *     same end
     * @return completes when nothing is left, or some 12 s after {@code timeout} though a connection or a backend did not end; never
     *     fails
     */
    public CompletionStage<Void> drain(Duration timeout) {
        return drain.begin(timeout).thenCompose(done -> host.cluster().leave());
    }

    /** Whether {@link #drain} has begun. */
    public boolean draining() {
        return drain.begun();
    }

    /**
     * Whether this node may write to its store: always, unless it shares the store with others and has no lease there. While it has
     * none, requests are refused ({@link Refusal#STORE}), and it tries to get one again.
     */
    public boolean mayWrite() {
        return host.cluster().mayWrite();
    }

    /** What the sessions of this engine survive. */
    public SessionStore.Durability durability() {
        return store.promise().durability();
    }

    /** Whether other nodes serve the same sessions. */
    public boolean sharesSessions() {
        return store.promise().shared();
    }

    /** Why the store cannot be used now, for people; empty while nothing is known to be wrong. See {@link SessionStore#trouble}. */
    public Optional<String> storeTrouble() {
        return store.trouble();
    }

    /**
     * Drains without waiting for running calls, and returns when that is done: some 12 s at most, though a connection or a backend did not
     * end. Then the engine's own scheduler is shut down. Not to be called on a thread of the scheduler, which the drain needs.
     */
    @Override
    public void close() {
        drain(Duration.ZERO).toCompletableFuture().join();
        sweeping.cancel(false);
        memory.close();
        releaseOwned.run();
    }

    /** As many bytes of the budget as a limit says, which callers share as {@link dev.holdfast.NodeLimits#principalShare} has it. */
    public Quota quota(long limit, Refusal full) {
        return new Quota(limit, limits.principalShare(), full, budget);
    }

    /** How many bytes of memory a request takes, see {@link Backend#requestMemory}. */
    public long requestMemory(long bytes, long tokens) {
        return host.backend.requestMemory(bytes, tokens);
    }

    /** Whether calls have to be made on the threads of their requests, see {@link Backend#executesImmediately}. */
    public boolean executesImmediately() {
        return host.backend.executesImmediately();
    }

    /** The clock that all deadlines follow, in nanoseconds; only differences mean something. */
    public LongSupplier clock() {
        return clock::now;
    }

    /** Where timed work runs. */
    public ScheduledExecutorService scheduler() {
        return scheduler;
    }

    private CompletionStage<Boolean> terminateAny(String id, String principal) {
        return registry.terminate(id, principal, kind -> true);
    }

    /** Those in memory. */
    LiveSessions live() {
        return live;
    }

    private void sweep() {
        long now = clock.look();
        guarded("capacity", live::sweep);
        guarded("parked sessions", () -> registry.sweep(now));
        guarded("sessions of other nodes", () -> registry.sweepLeft(now));
        for (LiveSession session : live.all()) {
            guarded(session.shortId(), () -> session.end().sweep(now, parkNanos));
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
}
