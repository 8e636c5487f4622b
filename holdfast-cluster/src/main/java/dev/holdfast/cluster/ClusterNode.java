package dev.holdfast.cluster;

import dev.holdfast.EndReason;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.StreamReader;
import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.log.BatchWriter;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.Step;
import dev.holdfast.log.Streams;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.SessionSeed;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Look;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.TooLargeException;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One node of a cluster: puts its parts together, and hears what other nodes tell it. Safe for use by any thread. */
final class ClusterNode implements ClusterMembership, Lease.Hearer, NodeStore.Surroundings, Forwarding.Surroundings {
    private static final Logger logger = LoggerFactory.getLogger(ClusterNode.class);
    /** How often a tail reads without a hint. */
    private static final long POLL_MILLIS = 1_000;
    /** How often a lease is renewed while it lasts. */
    private static final int RENEWALS = 3;

    private final ClusterMembership.Host engine;
    private final ClusterMembership.Setting setting;
    private final Lease lease;
    private final NodeStore store;
    private final Peers peers;
    private final Tails tails;
    private final Writers writers;
    private final Optional<Forwarding> forwarding;
    private final JournalVersions versions;
    private final BackendMessages forBackends;
    private final PrincipalRoom room;
    private volatile List<Future<?>> running = List.of();

    ClusterNode(SharedSessionStore shared, ClusterMembership.Host engine) {
        this.engine = engine;
        this.setting = engine.setting();
        this.lease = new Lease(
                shared.bus(),
                setting.lease(),
                setting.clock(),
                () -> setting.name() + "-"
                        + HexFormat.of().toHexDigits(setting.random().nextLong()),
                this);
        this.store = new NodeStore(shared, lease, this);
        this.room = new PrincipalRoom(store, setting.principalSessions(), setting.clock(), engine::endOne);
        this.peers = new Peers(store);
        Optional<Placement> placement =
                engine.backendExistsOnce() ? Optional.of(new Placement(store)) : Optional.empty();
        this.versions = new JournalVersions(store, this::mayBlock);
        this.forBackends = new BackendMessages(
                store, new ForwardedCalls(store, lease, versions, this::mayBlock), versions, this::mayBlock);
        this.forwarding = placement.map(
                where -> new Forwarding(store, lease, where, versions, forBackends, this, setting.random()));
        this.writers = new Writers(store, peers, placement);
        this.tails = new Tails(store, writers, session -> forwarding.ifPresent(once -> once.read(session)));
    }

    @Override
    public SessionStore store() {
        return store;
    }

    @Override
    public BatchWriter writer() {
        return new NumberedWriter(store);
    }

    @Override
    public boolean refusedLately(String principal) {
        return room.refusedLately(principal);
    }

    @Override
    public CompletionStage<Boolean> takeRoom(LiveSession session) {
        return room.take(session.principal(), session.key(), session.opening().expiresAt());
    }

    @Override
    public void leaveRoom(LiveSession session) {
        room.leave(session.principal(), session.key());
    }

    /** Begins the lease, and renews it from then on. */
    @Override
    public void start() {
        lease.tick();
        long between = Math.max(1, setting.lease().toMillis() / RENEWALS);
        Future<?> renewing = setting.scheduler()
                .scheduleWithFixedDelay(() -> guarded(lease::tick), between, between, TimeUnit.MILLISECONDS);
        Future<?> polling = setting.scheduler()
                .scheduleWithFixedDelay(() -> guarded(this::poll), POLL_MILLIS, POLL_MILLIS, TimeUnit.MILLISECONDS);
        running = List.of(renewing, polling);
    }

    private static void guarded(Runnable task) {
        try {
            task.run();
        } catch (Throwable e) {
            logger.error("what a node does for its cluster failed", e);
        }
    }

    private void poll() {
        if (tails.any()) {
            CompletionStage<Set<String>> living = store.bus().living();
            living.whenComplete(
                    (nodes, failure) -> tails.poll(failure == null ? Optional.of(nodes) : Optional.empty()));
        }
    }

    @Override
    public boolean mayWrite() {
        return lease.present();
    }

    @Override
    public CompletionStage<Void> leave() {
        running.forEach(task -> task.cancel(false));
        return lease.end();
    }

    @Override
    public Session face(LiveSession session) {
        return new SharedSession(session, store, parts());
    }

    private SharedSession.Node parts() {
        return new SharedSession.Node(
                engine,
                this::mayBlock,
                peers,
                tails,
                writers,
                new Deliveries(store, writers, peers),
                versions,
                forBackends,
                forwarding);
    }

    private void mayBlock(Runnable task) {
        if (!engine.elsewhere(task)) {
            task.run();
        }
    }

    @Override
    public void afterLease(Runnable task) {
        later(task, setting.lease().toMillis());
    }

    @Override
    public CompletionStage<StreamReader> read(LiveSession session, Forwarding.Started call, List<RequestId> requests) {
        return new Reading(session, store, parts()).first(call, requests);
    }

    @Override
    public CompletionStage<Writers.Standing> standing(LiveSession session, StreamId stream) {
        return writers.of(session, stream, 0);
    }

    @Override
    public boolean anyNodeRestores() {
        return true;
    }

    @Override
    public boolean backendMayBeElsewhere() {
        return engine.backendExistsOnce();
    }

    @Override
    public boolean mayBeReadElsewhere() {
        return true;
    }

    @Override
    public boolean repeatsCommits() {
        return true;
    }

    /** Whether the session has ended elsewhere, or takes something not: every other failure has been waited for. */
    @Override
    public boolean saidByStore(Throwable failure) {
        return failure instanceof TooLargeException || failure instanceof IllegalStateException;
    }

    @Override
    public EndReason missing() {
        return EndReason.TERMINATED;
    }

    /** A client without a connection here may have come to another node meanwhile, unless it has one only. */
    @Override
    public boolean endsEverywhere(EndReason why, boolean listensOnly) {
        return why == EndReason.DISCONNECTED
                ? listensOnly
                : why == EndReason.TERMINATED || why == EndReason.RESTORE_FAILED;
    }

    @Override
    public boolean leavesToStore(EndReason why, boolean listensOnly) {
        return !endsEverywhere(why, listensOnly);
    }

    @Override
    public SessionState restoredState() {
        return SessionState.IDLE;
    }

    /** Where lives of a session stand side by side, none of them is the present one. */
    @Override
    public int born(SessionSeed seed) {
        return seed.born();
    }

    @Override
    public boolean mayPark(SessionState state) {
        return state == SessionState.DETACHED || state == SessionState.IDLE;
    }

    /** Nobody keeps here any more what the client has read of the listening stream. */
    @Override
    public void parting(Streams streams, Step step) {
        streams.retention().release(streams.listening(), streams.listening().confirmed(), step);
    }

    /** Who reads on another node would be asked what nobody waits for. */
    @Override
    public void withdrawn(List<KeptEvent> questions, Streams streams, Step step) {
        questions.stream()
                .filter(question -> question.stream.listening())
                .forEach(question -> streams.retention().forget(question, step));
    }

    @Override
    public CompletionStage<Optional<SessionRecord>> initializedElsewhere(SessionKey key) {
        return store.look(key)
                .thenApply(look -> look.map(Look::record)
                        .filter(record -> !record.revision().isEmpty()));
    }

    @Override
    public CompletionStage<Boolean> mayOpenBackend(SessionKey key) {
        return engine.session(key).map(writers::mayRun).orElseGet(() -> CompletableFuture.completedFuture(false));
    }

    @Override
    public CompletionStage<Void> journalReached(SessionKey key) {
        return engine.session(key)
                .map(versions::insistOnCatchUp)
                .orElseGet(() -> CompletableFuture.completedFuture(null));
    }

    @Override
    public CompletionStage<Boolean> isShared(SessionKey key) {
        return peers.mayBe(key);
    }

    @Override
    public boolean holds(SessionKey key) {
        return store.holds(key);
    }

    @Override
    public CompletionStage<Boolean> expire(SessionKey key, Epoch last) {
        return store.expire(key, last);
    }

    @Override
    public void left(SessionKey key) {
        store.left(key);
    }

    @Override
    public void later(Runnable task, long millis) {
        Future<?> unused = setting.scheduler().schedule(task, millis, TimeUnit.MILLISECONDS);
    }

    @Override
    public void works(boolean works) {
        engine.storeWorks(works);
    }

    @Override
    public long now() {
        return setting.clock().getAsLong();
    }

    @Override
    public void busWorks(boolean works) {
        // a server without memory renews leases, and takes no commits
        engine.storeWorks(works && !store.unanswered());
        if (works && !store.unanswered()) {
            engine.storeWorks(true); // the last answer may have come meanwhile
        }
    }

    @Override
    public void lost() {
        store.giveUp();
        forwarding.ifPresent(Forwarding::giveUp);
        engine.sessions().forEach(session -> session.replica().leaseLost());
    }

    @Override
    public void committed(SessionKey key) {
        tails.hint(key);
    }

    @Override
    public void stuck(SessionKey key, Throwable failure) {
        engine.session(key).ifPresent(session -> session.replica().dismissClients(failure));
    }

    @Override
    public void deleted(SessionKey key, List<Member> others) {
        peers.tell(others, new NodeMessage.Ended(key));
    }

    @Override
    public void gone(SessionKey key) {
        engine.session(key).ifPresent(session -> session.replica().end(EndReason.TERMINATED));
    }

    @Override
    public void fenced(SessionKey key) {
        engine.session(key).ifPresent(session -> session.replica().fenced());
    }

    @Override
    public void message(byte[] bytes) {
        NodeMessage message;
        try {
            message = NodeMessage.of(bytes);
        } catch (IllegalArgumentException e) {
            logger.warn("a node of another version said what this one does not understand: {}", e.getMessage());
            return;
        }
        if (message instanceof NodeMessage.Taken taken) {
            forwarding.ifPresent(once -> once.said(taken.number(), taken));
        } else if (message instanceof NodeMessage.Declined declined) {
            forwarding.ifPresent(once -> once.said(declined.number(), declined));
        } else if (forBackends.comesFirst(message)) {
            Optional<LiveSession> session = engine.session(message.key());
            session.ifPresent(found -> heard(found, message, bytes.length));
            if (session.isEmpty()) {
                forBackends.notTaken(message);
            }
        }
    }

    private void heard(LiveSession session, NodeMessage message, long bytes) {
        if (message instanceof NodeMessage.Superseded superseded) {
            tails.superseded(session, superseded.stream(), superseded.token());
        } else if (message instanceof NodeMessage.Ended) {
            session.replica().end(EndReason.TERMINATED);
        } else if (message instanceof NodeMessage.Confirmed confirmed) {
            session.replica().confirm(confirmed.offset());
        } else if (message instanceof NodeMessage.Released released) {
            session.replica().release(released.offset());
        } else if (message instanceof NodeMessage.Delivered delivered) {
            session.replica().delivered(delivered.stream());
        } else if (message instanceof NodeMessage.Doubted doubted) {
            session.replica().prove(doubted.certainFrom());
        } else if (message instanceof NodeMessage.Read) {
            session.replica().read();
            forwarding.ifPresent(once -> once.readElsewhere(session));
        } else {
            forBackends.heard(session, message, bytes);
        }
    }
}
