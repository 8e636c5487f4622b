package dev.holdfast.engine;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.SessionLimits;
import dev.holdfast.engine.ParkedSessions.Left;
import dev.holdfast.engine.ParkedSessions.Parked;
import dev.holdfast.log.EngineClock;
import dev.holdfast.log.StreamSetting;
import dev.holdfast.session.SessionHost;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.session.Telemetry;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/** What an engine's sessions need of it. */
final class EngineHost implements SessionHost {
    private final Backend backend;
    private final MessageFactory messages;
    private final SessionStore store;
    private final SessionStore.Promise promise;
    private final SessionLimits limits;
    private final EngineClock clock;
    private final InstantSource wallClock;
    private final RandomGenerator random;
    private final ScheduledExecutorService scheduler;
    private final Telemetry telemetry;
    private final Node node;
    private final ClusterSide cluster;
    private final StreamSetting streams;
    private final BiFunction<String, String, CompletionStage<Boolean>> terminator;

    /**
     * @param terminator ends a session that is not in memory any more, by its id and its principal
     */
    EngineHost(
            SessionEngineBuilder builder,
            ScheduledExecutorService scheduler,
            EngineClock clock,
            Telemetry telemetry,
            Node node,
            ClusterSide cluster,
            BiFunction<String, String, CompletionStage<Boolean>> terminator) {
        this.backend = limited(builder, scheduler, clock, node);
        this.messages = builder.messages;
        this.store = cluster.store();
        this.cluster = cluster;
        this.promise = builder.store.promise();
        this.limits = builder.limits;
        this.clock = clock;
        this.wallClock = builder.storeClock();
        this.random = builder.random;
        this.scheduler = scheduler;
        this.telemetry = telemetry;
        this.node = node;
        this.streams = new StreamSetting(limits, messages, clock, node.memory());
        this.terminator = terminator;
    }

    private static Backend limited(
            SessionEngineBuilder builder, ScheduledExecutorService scheduler, EngineClock clock, Node node) {
        int most = builder.backend.mostConnections();
        if (most == Integer.MAX_VALUE) {
            return builder.backend;
        }
        UnusedBackends unused = new UnusedBackends(node.live(), clock::now);
        Quota quota = new Quota(most, builder.nodeLimits.principalShare(), Refusal.BACKENDS);
        BackendPlaces places = new BackendPlaces(quota, unused::releaseOne, clock::now, scheduler, builder.executor);
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
        return store;
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
    public boolean joins() {
        return cluster.present();
    }

    @Override
    public Backend backend() {
        return backend;
    }

    @Override
    public CompletionStage<Boolean> mayOpenBackend(SessionKey key) {
        return cluster.mayOpenBackend(key);
    }

    @Override
    public CompletionStage<Void> journalReached(SessionKey key) {
        return cluster.journalReached(key);
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
    public CompletionStage<Boolean> isShared(SessionKey key) {
        return cluster.isShared(key);
    }

    @Override
    public boolean elsewhere(Runnable task) {
        return cluster.elsewhere(task);
    }

    @Override
    public boolean storeWorks() {
        return cluster.storeWorks();
    }

    @Override
    public void storeWorks(boolean works) {
        cluster.storeWorks(works);
    }

    @Override
    public boolean draining() {
        return node.drain().begun();
    }

    @Override
    public boolean handingOver() {
        return node.drain().handingOver();
    }

    @Override
    public Optional<Refusal> noRoomFor(String principal, int requests) {
        return node.counts().noRoomFor(principal, requests);
    }

    @Override
    public void running(String principal, int more) {
        node.counts().running(principal, more);
    }

    @Override
    public void forwarded(int more) {
        node.counts().forwarded(more);
    }

    @Override
    public void makeRoom() {
        node.memory().makeRoom();
    }

    @Override
    public boolean canPark(String principal, long bytes) {
        return node.parked().hasRoom(principal, bytes);
    }

    @Override
    public void leaves(String principal) {
        node.admission().leaves(principal);
    }

    @Override
    public void parked(
            SessionKey key, String id, String principal, Epoch epoch, long bytes, long since, long patience) {
        if (cluster.present()) {
            // any node may bring it back: the store ends it in time, and until then it counts here
            node.parked().left(key, new Left(principal, bytes, since + patience));
            left(key);
            return;
        }
        node.parked().add(key, new Parked(id, principal, epoch, bytes, since, patience));
        node.live().remove(key);
    }

    @Override
    public CompletionStage<Boolean> remove(SessionKey key, Epoch last) {
        return letGo(key, () -> store.delete(key, last));
    }

    @Override
    public CompletionStage<Boolean> expire(SessionKey key, Epoch last) {
        return letGo(key, () -> cluster.expire(key, last));
    }

    private CompletionStage<Boolean> letGo(SessionKey key, Supplier<CompletionStage<Boolean>> shared) {
        // what nobody shares is ours in any epoch: the answer to a claim may have been lost
        return StoreQuestion.ask(
                () -> promise.shared() ? shared.get() : store.delete(key).thenApply(done -> true));
    }

    @Override
    public void forget(SessionKey key) {
        node.parked().gone(key);
        left(key);
    }

    private void left(SessionKey key) {
        cluster.left(key);
        node.live().remove(key);
    }

    @Override
    public CompletionStage<Boolean> terminate(String id, String principal) {
        return terminator.apply(id, principal);
    }

    @Override
    public void ended() {
        node.counts().sessionEnded();
    }

    @Override
    public void abandoned(String principal) {
        node.admission().abandoned(principal);
    }

    @Override
    public void closing(CompletionStage<Void> closed) {
        node.counts().closing(closed);
    }
}
