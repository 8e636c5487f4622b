package dev.holdfast;

import dev.holdfast.Lifecycle.Move;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A session in memory: what the edge and the backend do to it, step by step. The rules of its concurrency stand in {@link
 * LiveStream}.
 */
final class LiveSession implements Session {
    private static final long FIRST_RESTORE_MILLIS = 1_000;
    private static final long MOST_RESTORE_MILLIS = 60_000;

    private final ReentrantLock lock = new ReentrantLock();
    private final SessionEngine engine;
    private final String principal;
    private final boolean listensOnly;
    private final Lifetime lifetime;
    private final Lifecycle lifecycle;
    private final Epoch born;
    private final Upkeep upkeep;
    private final Journal journal;
    private final SessionLog log;
    private final StreamTable streams;
    private final CallTable calls = new CallTable();
    private final Outflow outflow;
    private final Attachments attachments;
    private final BackendSlot backend;
    private final Inflow inflow;
    private final Ending ending;
    private final Identity identity;
    private final Housekeeping housekeeping;
    private volatile @Nullable SessionKey key;
    private volatile String id = "";
    private volatile String revision = "";

    LiveSession(SessionEngine engine, String principal, Origin origin) {
        this.engine = engine;
        this.principal = principal;
        this.listensOnly = origin.listensOnly();
        this.lifetime = origin.lifetime();
        this.born = origin.epoch();
        this.lifecycle = new Lifecycle(lifetime, engine.time());
        this.upkeep = new Upkeep(engine.wallClock(), origin, engine.durable());
        this.journal = new Journal(engine.limits(), this::hold);
        this.outflow = new Outflow(this, engine, calls, journal, origin);
        this.log = outflow.log();
        this.streams = outflow.streams();
        this.attachments = new Attachments(this, engine, lifecycle, lifetime, upkeep, outflow);
        this.backend = new BackendSlot(this, engine.backend(), engine.limits());
        this.inflow = new Inflow(this, engine, calls, journal, backend, outflow, engine.outlives(lifetime));
        this.housekeeping = new Housekeeping(this, engine, lifetime, upkeep, outflow);
        this.ending = new Ending(this, engine, lifetime, lifecycle, outflow, backend);
        this.identity = new Identity(this, engine, upkeep, outflow);
    }

    CompletionStage<Backend.Outcome> openBackend(InboundMessage initialize) {
        return backend.open(initialize, principal).orElseThrow();
    }

    /** The backend has accepted: the session has a name from here on. Completes when the store has its record. */
    CompletionStage<Void> create(String name, InboundMessage initialize, Backend.Opened opened) {
        name(name);
        accepted(initialize, opened.revision());
        identity.first(opened.response());
        if (!backend.connected(opened.connection())) {
            closing(opened.connection());
            return CompletableFuture.failedFuture(new IllegalStateException("closed while it was opened"));
        }
        return create(SessionRecord.SESSION, Map.of(SessionRecord.INITIALIZE, initialize.bytes()));
    }

    /** Gives a name to a session whose client will initialize it later. Completes when the store has its record. */
    CompletionStage<Void> create(String name) {
        name(name);
        return create(SessionRecord.LISTENING_SESSION, Map.of());
    }

    private void name(String name) {
        id = name;
        key = SessionKey.of(name, principal);
    }

    private CompletionStage<Void> create(String kind, Map<String, byte[]> entries) {
        SessionRecord record = new SessionRecord(
                1, kind, principal, upkeep.expiresAt(), upkeep.extension(), revision, entries, Map.of());
        return Return.fromStore(() -> engine.store().create(key(), born, record));
    }

    /** The backend has accepted the session in this revision. */
    void accepted(InboundMessage initialize, String negotiated) {
        revision = negotiated;
        locked(() -> journal.accepted(initialize));
    }

    /** Whether its backends are the same server. */
    Identity identity() {
        return identity;
    }

    /** The session is known to those who will hear of its end: it may live. */
    void start() {
        locked(() -> log.start(key()));
        lifecycle.opened(engine.now());
        log.drain();
    }

    /** Comes back to life, as the store has kept it. */
    void revive(String name, SessionStore.Claim claim, Map<StreamId, List<Event>> events) {
        name(name);
        revision = claim.record().revision();
        Revival revival = new Revival(this, engine, calls, outflow, RecordExtension.of(claim.record()));
        List<BackendSlot.User> turnedAway = locked(() -> {
            log.start(key());
            lifecycle.returned(engine.now());
            log.insist(upkeep.begun());
            List<BackendSlot.User> again = revival.run(claim, events);
            // whoever finds it from here on waits for the lock
            engine.sessions().add(this);
            return revision.isEmpty() ? again : backend.returned(again);
        });
        log.drain();
        turnedAway.forEach(user -> user.refused("no backend is there"));
        openBackend(FIRST_RESTORE_MILLIS);
    }

    /** Opens a fresh backend for the calls that are run again, and for a client that only listens; later if nobody can now. */
    private void openBackend(long patience) {
        if (!lifecycle.state().closed() && !engine.elsewhere(backend::restore)) {
            engine.later(() -> openBackend(Math.min(2 * patience, MOST_RESTORE_MILLIS)), patience);
        }
    }

    /** It keeps so much more, or less, beside the messages for its client; under the lock. */
    void hold(long moreBytes) {
        streams.history().hold(moreBytes);
    }

    SessionKey key() {
        return Objects.requireNonNull(key, "the session has no name yet");
    }

    String principal() {
        return principal;
    }

    Journal journal() {
        return journal;
    }

    long now() {
        return engine.now();
    }

    /** The epoch that new events get. */
    Epoch epoch() {
        return locked(log::epoch);
    }

    int nonce() {
        return born.nonce();
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public String shortId() {
        return id.length() <= 8 ? id : id.substring(0, 8);
    }

    @Override
    public String revision() {
        return revision;
    }

    @Override
    public boolean listensOnly() {
        return listensOnly;
    }

    @Override
    public SessionState state() {
        return lifecycle.state().phase();
    }

    /** A request for this session came; false if it came too late. */
    boolean touch() {
        return alive(lifecycle.touch(engine.now()));
    }

    private boolean visit() {
        return alive(lifecycle.visit(engine.now()));
    }

    /** Does what a step demands, without the lock; false if it leaves the session closed. */
    boolean alive(Move move) {
        if (move.closes()) {
            ending.close(move);
        } else if (move.reconnects()) {
            engine.news().reconnected(this);
        }
        return !move.leavesClosed();
    }

    @Override
    public CompletionStage<Call.Outcome> call(List<InboundMessage> requests) {
        return inflow.call(requests);
    }

    void dispatch(LiveCall call) {
        inflow.dispatch(call);
    }

    @Override
    public CompletionStage<Optional<Refusal>> notify(InboundMessage notification) {
        return visit() ? inflow.notify(notification) : inflow.refusedFor(ended());
    }

    @Override
    public boolean answer(InboundMessage response) {
        return visit() && inflow.answer(response);
    }

    @Override
    public void cancel(RequestId request, InboundMessage notification) {
        visit();
        inflow.cancel(request, notification);
    }

    /** Answers a request with an error. */
    void fail(LiveCall.Sink sink, String cause) {
        locked(() -> outflow.fail(sink, cause));
        log.drain();
    }

    /** Appends to the listening stream what a life of the backend sends outside of calls. */
    CompletionStage<Void> send(int life, OutboundMessage message) {
        return outflow.send(life, message);
    }

    /** The backend gives up what it asked, and has told the client itself. */
    void withdrawn(RequestId question) {
        outflow.withdrawn(question);
    }

    /** Appends to the stream of a call. */
    CompletionStage<Void> send(LiveCall.Sink sink, OutboundMessage message) {
        return outflow.send(sink, message);
    }

    /** Whether this life of the backend is the present one and not lost; under the lock. */
    boolean lives(int life) {
        return backend.lives(life);
    }

    /** The backend's present life is over; under the lock. Then {@link #drain} without it. */
    void backendLost(String cause) {
        outflow.backendLost(cause);
    }

    /** Lets go what stands in the outbox; without the lock. */
    void drain() {
        log.drain();
    }

    /** What it keeps may have grown: makes room where all sessions together keep too much; without the lock. */
    void makeRoom() {
        engine.history().makeRoom();
    }

    /** Answers a question of the backend's in the place of the client, if that life of the backend is still there. */
    void answerFor(int life, InboundMessage response) {
        inflow.answer(life, response);
    }

    void later(Runnable task, long millis) {
        engine.later(task, millis);
    }

    void lostBackend(String cause) {
        engine.news().backendLost(this, cause);
    }

    @Override
    public Resume listen() {
        return attachments.listen();
    }

    @Override
    public Resume resume(EventId after) {
        return attachments.resume(after);
    }

    Outflow outflow() {
        return outflow;
    }

    Attachments attachments() {
        return attachments;
    }

    @Override
    public CompletionStage<Void> terminate() {
        return ending.terminate();
    }

    /** When the store may forget it, in milliseconds since 1970. */
    long expiresAt() {
        return locked(upkeep::expiresAt);
    }

    /** What time does to it. */
    Housekeeping housekeeping() {
        return housekeeping;
    }

    long historyBytes() {
        return locked(() -> streams.history().weight());
    }

    long historyEvents() {
        return locked(streams::events);
    }

    /** Drops until it keeps no more than this; false if the rest must not be dropped. */
    boolean shorten(NodeHistory.Level level) {
        boolean reached = locked(() -> {
            boolean done = streams.shortenTo(level);
            log.flush();
            return done;
        });
        log.drain();
        return reached;
    }

    /** Whether a response waits for its client. */
    boolean owesResponses() {
        return locked(streams::owing);
    }

    /** How it ends. */
    Ending ending() {
        return ending;
    }

    /** Ends it. */
    void close(EndReason reason) {
        ending.close(reason);
    }

    /** Ends a connection to a backend; a drain waits for it. */
    void closing(BackendConnection connection) {
        ending.closing(connection);
    }

    /** Why it has ended, once it has. */
    EndReason ended() {
        EndReason reason = lifecycle.state().end();
        return reason == null ? EndReason.EXPIRED : reason;
    }

    ReentrantLock monitor() {
        return lock;
    }

    Lifecycle lifecycle() {
        return lifecycle;
    }

    void lock() {
        lock.lock();
    }

    void unlock() {
        lock.unlock();
    }

    <T> T locked(Supplier<T> action) {
        lock.lock();
        try {
            return action.get();
        } finally {
            lock.unlock();
        }
    }

    void locked(Runnable action) {
        lock.lock();
        try {
            action.run();
        } finally {
            lock.unlock();
        }
    }
}
