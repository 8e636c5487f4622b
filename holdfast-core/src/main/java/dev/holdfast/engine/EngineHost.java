package dev.holdfast.engine;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.SessionLimits;
import dev.holdfast.engine.ParkedSessions.Left;
import dev.holdfast.engine.ParkedSessions.Parked;
import dev.holdfast.log.EngineClock;
import dev.holdfast.log.StreamSetting;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.SessionHost;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.session.Telemetry;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What an engine's sessions need of it, and its cluster. */
final class EngineHost implements SessionHost, ClusterMembership.Host {
    private static final Logger logger = LoggerFactory.getLogger(EngineHost.class);

    private final Backend backend;
    private final MessageFactory messages;
    private final ClusterMembership.Setting setting;
    private final Executor executor;
    private final SessionStore.Promise promise;
    private final SessionLimits limits;
    private final EngineClock clock;
    private final InstantSource wallClock;
    private final RandomGenerator random;
    private final ScheduledExecutorService scheduler;
    private final Telemetry telemetry;
    private final LiveSessions live;
    private final ParkedSessions parked;
    private final NodeMemory memory;
    private final Drain drain;
    private final ClusterMembership cluster;
    private final StreamSetting streams;
    private final BiFunction<String, String, CompletionStage<Boolean>> terminator;
    private volatile boolean storeWorks = true;

    /**
     * @param terminator ends a session that is not in memory any more, by its id and its principal
     */
    EngineHost(
            SessionEngineBuilder builder,
            ScheduledExecutorService scheduler,
            EngineClock clock,
            Telemetry telemetry,
            LiveSessions live,
            ParkedSessions parked,
            NodeMemory memory,
            Drain drain,
            BiFunction<String, String, CompletionStage<Boolean>> terminator) {
        this.backend = limited(builder, scheduler, clock, live);
        this.messages = builder.messages;
        this.executor = builder.executor;
        this.promise = builder.store.promise();
        this.limits = builder.limits;
        this.clock = clock;
        this.wallClock = builder.storeClock();
        this.random = builder.random;
        this.scheduler = scheduler;
        this.telemetry = telemetry;
        this.live = live;
        this.parked = parked;
        this.memory = memory;
        this.drain = drain;
        this.streams = new StreamSetting(limits, messages, clock, memory);
        this.terminator = terminator;
        this.setting = new ClusterMembership.Setting(
                builder.nodeName,
                builder.lease,
                builder.nodeLimits.principalSessions(),
                builder.clock,
                scheduler,
                builder.random);
        this.cluster = builder.store
                .cluster()
                .map(shared -> ((ClusterMembership.Support) shared).join(this))
                .orElseGet(() -> ClusterMembership.alone(builder.store));
    }

    private static Backend limited(
            SessionEngineBuilder builder, ScheduledExecutorService scheduler, EngineClock clock, LiveSessions live) {
        int most = builder.backend.mostConnections();
        if (most == Integer.MAX_VALUE) {
            return builder.backend;
        }
        Quota quota = new Quota(most, builder.nodeLimits.principalShare(), Refusal.BACKENDS);
        LimitedBackend.BackendPlaces places = new LimitedBackend.BackendPlaces(
                quota,
                principal -> live.releaseBackend(principal, clock.now()),
                clock::now,
                scheduler,
                builder.executor);
        return new LimitedBackend(builder.backend, places, builder.messages);
    }

    @Override
    public EngineClock clock() {
        return clock;
    }

    @Override
    public InstantSource wallClock() {
        return wallClock;
    }

    @Override
    public RandomGenerator random() {
        return random;
    }

    @Override
    public SessionStore store() {
        return cluster.store();
    }

    @Override
    public boolean durable() {
        return promise.durability() != SessionStore.Durability.NOTHING;
    }

    @Override
    public boolean shared() {
        return promise.shared();
    }

    @Override
    public ClusterMembership cluster() {
        return cluster;
    }

    @Override
    public ClusterMembership.Setting setting() {
        return setting;
    }

    @Override
    public Iterable<LiveSession> sessions() {
        return live.all();
    }

    @Override
    public Optional<LiveSession> session(SessionKey key) {
        return live.get(key);
    }

    @Override
    public CompletionStage<Optional<SessionKey>> endOne(String principal) {
        return live.endOne(principal);
    }

    @Override
    public boolean backendExistsOnce() {
        return backend.existsOnce();
    }

    @Override
    public Backend backend() {
        return backend;
    }

    @Override
    public MessageFactory messages() {
        return messages;
    }

    @Override
    public SessionLimits limits() {
        return limits;
    }

    @Override
    public StreamSetting streams() {
        return streams;
    }

    @Override
    public Telemetry telemetry() {
        return telemetry;
    }

    @Override
    public void later(Runnable task, long millis) {
        Future<?> unused = scheduler.schedule(task, millis, TimeUnit.MILLISECONDS);
    }

    @Override
    public boolean elsewhere(Runnable task) {
        try {
            executor.execute(task);
            return true;
        } catch (RuntimeException | Error e) {
            // there may be too many threads, or an executor that is full
            logger.error("nobody does what has to be done for a session", e);
            return false;
        }
    }

    @Override
    public boolean storeWorks() {
        return storeWorks;
    }

    @Override
    public void storeWorks(boolean works) {
        if (storeWorks != works) {
            storeWorks = works;
        }
    }

    @Override
    public boolean draining() {
        return drain.begun();
    }

    @Override
    public boolean handingOver() {
        return drain.handingOver();
    }

    @Override
    public Optional<Refusal> noRoomFor(String principal, int requests) {
        return live.noRoomFor(principal, requests);
    }

    @Override
    public void running(String principal, int more) {
        live.running(principal, more);
    }

    @Override
    public void forwarded(int more) {
        live.forwarded(more);
    }

    @Override
    public void makeRoom() {
        memory.makeRoom();
    }

    @Override
    public boolean canPark(String principal, long bytes) {
        return parked.hasRoom(principal, bytes);
    }

    @Override
    public void leaves(String principal) {
        live.leaves(principal);
    }

    @Override
    public void parked(
            SessionKey key,
            String id,
            String principal,
            Epoch epoch,
            long bytes,
            long since,
            long patience,
            Duration margin) {
        if (cluster.anyNodeRestores()) {
            // it counts here until the store ends it
            parked.left(key, new Left(principal, bytes, since + patience + margin.toNanos()));
            left(key);
            return;
        }
        parked.add(key, new Parked(id, principal, epoch, bytes, since, patience));
        live.remove(key);
    }

    @Override
    public CompletionStage<Boolean> remove(SessionKey key, Epoch last) {
        return letGo(key, () -> store().delete(key, last));
    }

    @Override
    public CompletionStage<Boolean> expire(SessionKey key, Epoch last) {
        return letGo(key, () -> cluster.expire(key, last));
    }

    private CompletionStage<Boolean> letGo(SessionKey key, Supplier<CompletionStage<Boolean>> shared) {
        // what nobody shares is ours in any epoch: the answer to a claim may have been lost
        return StoreQuestion.ask(
                () -> promise.shared() ? shared.get() : store().delete(key).thenApply(done -> true));
    }

    @Override
    public void forget(SessionKey key) {
        parked.gone(key);
        left(key);
    }

    private void left(SessionKey key) {
        cluster.left(key);
        live.remove(key);
    }

    @Override
    public CompletionStage<Boolean> terminate(String id, String principal) {
        return terminator.apply(id, principal);
    }

    @Override
    public void ended() {
        live.ended();
    }

    @Override
    public void abandoned(String principal) {
        live.abandoned(principal);
    }

    @Override
    public void closing(CompletionStage<Void> closed) {
        live.closing(closed);
    }
}
