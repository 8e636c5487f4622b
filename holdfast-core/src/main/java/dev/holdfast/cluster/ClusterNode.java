package dev.holdfast.cluster;

import dev.holdfast.EndReason;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SharedSessionStore;
import dev.holdfast.spi.SharedSessionStore.Member;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One node of a cluster: puts its parts together, and hears what other nodes tell it. Safe for use by any thread. */
public final class ClusterNode implements Lease.Hearer, NodeStore.Surroundings, Forwarding.Surroundings {
    private static final Logger logger = LoggerFactory.getLogger(ClusterNode.class);
    /** How often a tail reads without a hint. */
    private static final long POLL_MILLIS = 1_000;
    /** How often a lease is renewed while it lasts. */
    private static final int RENEWALS = 3;

    /** What a cluster needs of the engine of its node. */
    public interface Engine {
        /** The sessions in memory. */
        Iterable<LiveSession> sessions();

        /** A session in memory. */
        Optional<LiveSession> session(SessionKey key);

        /** Whether the store has answered. */
        void storeWorks(boolean works);

        /** Whether the store has answered what it was asked last. */
        boolean storeWorks();

        /** Whether a session has one backend in the whole cluster. */
        boolean backendExistsOnce();

        /**
         * Ends a session of a principal that nobody uses on this node; completes with its name when it has left memory, empty if there
         * is none.
         */
        CompletionStage<Optional<SessionKey>> endOne(String principal);

        /** Does something elsewhere, where it may block; false if nobody does it. */
        boolean elsewhere(Runnable task);

        /** Whether connections are sent to the successor of this server. */
        boolean handingOver();
    }

    /**
     * The knobs.
     *
     * @param name the beginning of the names of this node's incarnations
     * @param lease how long other nodes wait for one that is silent
     * @param principalSessions how many sessions one principal may have on all nodes together
     */
    public record Setting(String name, Duration lease, int principalSessions) {}

    private final Engine engine;
    private final Setting setting;
    private final ScheduledExecutorService scheduler;
    private final LongSupplier clock;
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

    /**
     * @param clock the monotonic clock, in nanoseconds
     */
    public ClusterNode(
            SharedSessionStore shared,
            Setting setting,
            LongSupplier clock,
            ScheduledExecutorService scheduler,
            RandomGenerator random,
            Engine engine) {
        this.engine = engine;
        this.setting = setting;
        this.scheduler = scheduler;
        this.clock = clock;
        this.lease = new Lease(
                shared.bus(),
                setting.lease(),
                clock,
                () -> setting.name() + "-" + HexFormat.of().toHexDigits(random.nextLong()),
                this);
        this.store = new NodeStore(shared, lease, this);
        this.room = new PrincipalRoom(store, setting.principalSessions(), clock, engine::endOne);
        this.peers = new Peers(store);
        Optional<Placement> placement =
                engine.backendExistsOnce() ? Optional.of(new Placement(store)) : Optional.empty();
        this.versions = new JournalVersions(store, this::mayBlock);
        this.forBackends = new BackendMessages(
                store, new ForwardedCalls(store, lease, versions, this::mayBlock), versions, this::mayBlock);
        this.forwarding =
                placement.map(where -> new Forwarding(store, lease, where, versions, forBackends, this, random));
        this.writers = new Writers(store, peers, placement);
        this.tails = new Tails(store, writers, session -> forwarding.ifPresent(once -> once.read(session)));
    }

    /** The store as this node's sessions use it. */
    public SessionStore store() {
        return store;
    }

    /** How many sessions a principal may have. */
    public PrincipalRoom room() {
        return room;
    }

    /** Begins the lease, and renews it from then on. */
    public void start() {
        lease.tick();
        long between = Math.max(1, setting.lease().toMillis() / RENEWALS);
        Future<?> renewing =
                scheduler.scheduleWithFixedDelay(() -> guarded(lease::tick), between, between, TimeUnit.MILLISECONDS);
        Future<?> polling = scheduler.scheduleWithFixedDelay(
                () -> guarded(this::poll), POLL_MILLIS, POLL_MILLIS, TimeUnit.MILLISECONDS);
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

    /** Whether it may write now. */
    public boolean hasLease() {
        return lease.present();
    }

    /** Leaves the cluster; completes when other nodes know. */
    public CompletionStage<Void> end() {
        running.forEach(task -> task.cancel(false));
        return lease.end();
    }

    /** A session as those who talk to its client use it. */
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

    /** Completes with whether the backend of a session in memory is on this node, or may be; fails where nobody knows. */
    public CompletionStage<Boolean> mayOpenBackend(SessionKey key) {
        return engine.session(key).map(writers::mayRun).orElseGet(() -> CompletableFuture.completedFuture(false));
    }

    /**
     * Completes when a session in memory, and its backend, have the newest journal that this node has heard of; fails where that can
     * never be read, or not before this node has lost its lease.
     */
    public CompletionStage<Void> journalReached(SessionKey key) {
        return engine.session(key)
                .map(versions::insistOnCatchUp)
                .orElseGet(() -> CompletableFuture.completedFuture(null));
    }

    /** Completes with whether another node may have a session too; never fails. */
    public CompletionStage<Boolean> isShared(SessionKey key) {
        return peers.mayBe(key);
    }

    /** Whether the incarnation that has created or joined a session still has its lease. */
    public boolean holds(SessionKey key) {
        return store.holds(key);
    }

    /**
     * Lets the store forget a session whose time is over on this node; completes with false where another one may have used it later.
     */
    public CompletionStage<Boolean> expire(SessionKey key, Epoch last) {
        return store.expire(key, last);
    }

    /** A session has left this node's memory. */
    public void left(SessionKey key) {
        store.left(key);
    }

    @Override
    public void later(Runnable task, long millis) {
        Future<?> unused = scheduler.schedule(task, millis, TimeUnit.MILLISECONDS);
    }

    @Override
    public void works(boolean works) {
        engine.storeWorks(works);
    }

    @Override
    public long now() {
        return clock.getAsLong();
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
        engine.sessions().forEach(session -> session.shared().leaseLost());
    }

    @Override
    public void committed(SessionKey key) {
        tails.hint(key);
    }

    @Override
    public void stuck(SessionKey key, Throwable failure) {
        engine.session(key).ifPresent(session -> session.shared().dismissClients(failure));
    }

    @Override
    public void deleted(SessionKey key, List<Member> others) {
        peers.tell(others, new NodeMessage.Ended(key));
    }

    @Override
    public void gone(SessionKey key) {
        engine.session(key).ifPresent(session -> session.shared().end(EndReason.TERMINATED));
    }

    @Override
    public void fenced(SessionKey key) {
        engine.session(key).ifPresent(session -> session.shared().fenced());
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
            session.shared().end(EndReason.TERMINATED);
        } else if (message instanceof NodeMessage.Confirmed confirmed) {
            session.shared().confirm(confirmed.offset());
        } else if (message instanceof NodeMessage.Released released) {
            session.shared().release(released.offset());
        } else if (message instanceof NodeMessage.Delivered delivered) {
            session.shared().delivered(delivered.stream());
        } else if (message instanceof NodeMessage.Doubted doubted) {
            session.shared().prove(doubted.certainFrom());
        } else if (message instanceof NodeMessage.Read) {
            session.shared().read();
            forwarding.ifPresent(once -> once.readElsewhere(session));
        } else {
            forBackends.heard(session, message, bytes);
        }
    }
}
