package dev.holdfast.engine;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.engine.ParkedSessions.Left;
import dev.holdfast.engine.ParkedSessions.Parked;
import dev.holdfast.log.EngineClock;
import dev.holdfast.log.StreamSetting;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.SessionHost;
import dev.holdfast.session.Telemetry;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.BiFunction;

/** What an engine's sessions need of it, and its cluster. */
final class EngineHost extends SessionHost implements ClusterMembership.Host {
    private final ClusterMembership.Setting setting;
    private final LiveSessions live;
    private final ParkedSessions parked;
    private final NodeMemory memory;
    private final Drain drain;
    private final ClusterMembership cluster;
    private final BiFunction<String, String, CompletionStage<Boolean>> terminator;

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
        super(
                builder.storeClock(),
                builder.random,
                limited(builder, scheduler, clock, live),
                new StreamSetting(builder.limits, builder.messages, clock, memory),
                telemetry,
                live.running,
                builder.store.promise(),
                scheduler,
                builder.executor);
        this.live = live;
        this.parked = parked;
        this.memory = memory;
        this.drain = drain;
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
        Backend backend = builder.group
                .places(most)
                .<Backend>map(shared -> new LimitedBackend(builder.backend, shared, builder.messages))
                .orElse(builder.backend);
        if (most == Integer.MAX_VALUE || builder.group.allows(most)) {
            return backend;
        }
        Quota quota = new Quota(most, builder.nodeLimits.principalShare(), Refusal.BACKENDS);
        LimitedBackend.BackendPlaces places = new LimitedBackend.BackendPlaces(
                quota,
                principal -> live.releaseBackend(principal, clock.now()),
                clock::now,
                scheduler,
                builder.executor);
        return new LimitedBackend(backend, places, builder.messages);
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
    public boolean draining() {
        return drain.begun();
    }

    @Override
    public boolean handingOver() {
        return drain.handingOver();
    }

    @Override
    public void makeRoom() {
        memory.makeRoom();
    }

    @Override
    protected void forwarded(int more) {
        live.forwarded(more);
    }

    @Override
    protected boolean canPark(String principal, long bytes) {
        return parked.hasRoom(principal, bytes);
    }

    @Override
    protected void leaves(String principal) {
        live.leaves(principal);
    }

    @Override
    protected void parked(
            SessionKey key,
            String id,
            String principal,
            Epoch epoch,
            long bytes,
            long since,
            long waits,
            Duration margin) {
        if (cluster.anyNodeRestores()) {
            // it counts here until the store ends it
            parked.left(key, new Left(principal, bytes, since + waits + margin.toNanos()));
            left(key);
            return;
        }
        parked.add(key, new Parked(id, principal, epoch, bytes, since, waits));
        live.remove(key);
    }

    @Override
    protected CompletionStage<Boolean> terminate(String id, String principal) {
        return terminator.apply(id, principal);
    }

    @Override
    protected void ended() {
        live.ended();
    }

    @Override
    protected void abandoned(String principal) {
        live.abandoned(principal);
    }

    @Override
    protected void closing(CompletionStage<Void> closed) {
        live.closing(closed);
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
}
