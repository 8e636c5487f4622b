package dev.holdfast.cluster;

import dev.holdfast.EndReason;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.log.BatchWriter;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.Step;
import dev.holdfast.log.Streams;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.RecordState;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Look;
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
final class ClusterNode implements ClusterMembership, Lease.Hearer {
    private static final Logger logger = LoggerFactory.getLogger(ClusterNode.class);
    /** How often a tail reads without a hint. */
    private static final long POLL_MILLIS = 1_000;
    /** How often a lease is renewed while it lasts. */
    private static final int RENEWALS = 3;

    private final ClusterMembership.Host engine;
    private final ClusterMembership.Setting setting;
    private final Lease lease;
    private final ClusterWriter store;
    private final PrincipalQuota quota;
    private final Optional<Placement> placement;
    private final Tails tails;
    private final SharedReaders readers;
    private final JournalVersions versions;
    private final BackendInbox inbox;
    private final Optional<CallForwarder> forwarder;
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
        this.store = new ClusterWriter(shared, lease, new EpochFences(shared), engine);
        this.quota = new PrincipalQuota(store, engine);
        this.placement = engine.backendExistsOnce() ? Optional.of(new Placement(store)) : Optional.empty();
        StreamWriters writers = new StreamWriters(store, placement);
        this.tails = new Tails(store, writers, placement);
        this.readers = new SharedReaders(store, writers, tails);
        this.versions = new JournalVersions(store, this::mayBlock);
        this.inbox = new BackendInbox(store, lease, versions, this::mayBlock);
        this.forwarder = placement.map(
                where -> new CallForwarder(store, lease, where, versions, inbox, writers, readers, engine));
    }

    @Override
    public SessionStore store() {
        return store;
    }

    @Override
    public BatchWriter writer() {
        return store.batches(tails::hint);
    }

    @Override
    public boolean refusedLately(String principal) {
        return quota.refusedLately(principal);
    }

    @Override
    public CompletionStage<Boolean> takeRoom(LiveSession session) {
        return quota.take(session.principal(), session.key(), session.opening().expiresAt());
    }

    @Override
    public void leaveRoom(LiveSession session) {
        quota.leave(session.principal(), session.key());
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
        return new SharedSession(session, engine, store, readers, versions, inbox, forwarder);
    }

    private void mayBlock(Runnable task) {
        if (!engine.elsewhere(task)) {
            task.run();
        }
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

    /** Whether the store has refused: for its size, or since the session has ended elsewhere. Other failures have been retried. */
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
    public int born(RecordState.Seed seed) {
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
        return engine.session(key)
                .map(session -> Placement.mayRun(placement, session))
                .orElseGet(() -> CompletableFuture.completedFuture(false));
    }

    @Override
    public CompletionStage<Void> journalReached(SessionKey key) {
        return engine.session(key)
                .map(versions::insistOnCatchUp)
                .orElseGet(() -> CompletableFuture.completedFuture(null));
    }

    @Override
    public CompletionStage<Boolean> isShared(SessionKey key) {
        return store.peers().mayBe(key);
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
        forwarder.ifPresent(CallForwarder::giveUp);
        engine.sessions().forEach(session -> session.leaseLost());
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
            forwarder.ifPresent(once -> once.said(taken.number(), taken));
        } else if (message instanceof NodeMessage.Declined declined) {
            forwarder.ifPresent(once -> once.said(declined.number(), declined));
        } else if (inbox.comesFirst(message)) {
            Optional<LiveSession> session = engine.session(message.key());
            session.ifPresent(found -> heard(found, message, bytes.length));
            if (session.isEmpty()) {
                inbox.notTaken(message);
            }
        }
    }

    private void heard(LiveSession session, NodeMessage message, long bytes) {
        if (message instanceof NodeMessage.Superseded superseded) {
            tails.superseded(session, superseded.stream(), superseded.token());
        } else if (message instanceof NodeMessage.Ended) {
            session.end(EndReason.TERMINATED);
        } else if (message instanceof NodeMessage.Confirmed confirmed) {
            session.readers().confirm(confirmed.offset());
        } else if (message instanceof NodeMessage.Released released) {
            session.readers().release(released.offset());
        } else if (message instanceof NodeMessage.Delivered delivered) {
            session.readers().delivered(delivered.stream());
        } else if (message instanceof NodeMessage.Doubted doubted) {
            session.prove(doubted.certainFrom());
        } else if (message instanceof NodeMessage.Read) {
            session.readers().readElsewhere();
            placement.ifPresent(where -> where.readElsewhere(session));
        } else {
            inbox.heard(session, message, bytes);
        }
    }
}
