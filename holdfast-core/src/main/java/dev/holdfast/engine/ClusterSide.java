package dev.holdfast.engine;

import dev.holdfast.Finding;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.cluster.ClusterNode;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SharedSessionStore;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What an engine does about other nodes; nothing, where its store is not shared. */
final class ClusterSide implements ClusterNode.Engine {
    private static final Logger logger = LoggerFactory.getLogger(ClusterSide.class);

    private static final CompletionStage<Boolean> YES = CompletableFuture.completedFuture(true);
    private static final CompletionStage<Boolean> NO = CompletableFuture.completedFuture(false);
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final SessionStore store;
    private final Node node;
    private final Backend backend;
    private final Executor executor;
    private final Optional<ClusterNode> cluster;
    private volatile boolean storeWorks = true;

    ClusterSide(SessionEngineBuilder builder, ScheduledExecutorService scheduler, Node node) {
        this.node = node;
        this.backend = builder.backend;
        this.executor = builder.executor;
        this.cluster = builder.store instanceof SharedSessionStore shared
                ? Optional.of(new ClusterNode(
                        shared,
                        new ClusterNode.Setting(
                                builder.nodeName, builder.lease, builder.nodeLimits.principalSessions()),
                        builder.clock,
                        scheduler,
                        builder.random,
                        this))
                : Optional.empty();
        this.store = cluster.map(ClusterNode::store).orElse(builder.store);
    }

    /** The store as the sessions of this engine use it. */
    SessionStore store() {
        return store;
    }

    /** Whether there are other nodes. */
    boolean present() {
        return cluster.isPresent();
    }

    /** Whether this node may write to its store. */
    boolean mayWrite() {
        return cluster.isEmpty() || cluster.get().hasLease();
    }

    void start() {
        cluster.ifPresent(ClusterNode::start);
    }

    /** Leaves the others when this is done. */
    CompletionStage<Void> endAfter(CompletionStage<Void> last) {
        return cluster.isPresent() ? last.thenCompose(done -> cluster.get().end()) : last;
    }

    /** Whether a principal had too many sessions in the whole cluster a moment ago. */
    boolean refusedLately(String principal) {
        return cluster.isPresent() && cluster.get().room().refusedLately(principal);
    }

    /** Lets a session count among those of its principal; completes with whether there is room for it in the whole cluster. */
    CompletionStage<Boolean> takeRoom(LiveSession session) {
        return cluster.isPresent()
                ? cluster.get()
                        .room()
                        .take(
                                session.principal(),
                                session.key(),
                                session.opening().expiresAt())
                : YES;
    }

    /** A session for which room was to be taken was not opened. */
    void leaveRoom(LiveSession session) {
        cluster.ifPresent(present -> present.room().leave(session.principal(), session.key()));
    }

    /** Completes with whether the backend of a session may be opened here; fails where nobody knows. */
    CompletionStage<Boolean> mayOpenBackend(SessionKey key) {
        return cluster.isPresent() ? cluster.get().mayOpenBackend(key) : YES;
    }

    /**
     * Completes when a session has what other nodes have put into its journal, as far as this one knows; fails where that can never be
     * read, or not before this node has lost its lease.
     */
    CompletionStage<Void> journalReached(SessionKey key) {
        return cluster.isPresent() ? cluster.get().journalReached(key) : DONE;
    }

    /** Whether this node still has the lease under which it has created or joined a session. */
    boolean holds(SessionKey key) {
        return cluster.isEmpty() || cluster.get().holds(key);
    }

    /** Completes with whether another node may have a session too; never fails. */
    CompletionStage<Boolean> isShared(SessionKey key) {
        return cluster.isPresent() ? cluster.get().isShared(key) : NO;
    }

    /** Lets the store forget a session whose time is over here; completes with false where another engine may have used it later. */
    CompletionStage<Boolean> expire(SessionKey key, Epoch last) {
        return cluster.isPresent() ? cluster.get().expire(key, last) : store.delete(key, last);
    }

    /** A session has left memory. */
    void left(SessionKey key) {
        cluster.ifPresent(present -> present.left(key));
    }

    private Session face(Session session) {
        return cluster.isPresent() && session instanceof LiveSession live
                ? cluster.get().face(live)
                : session;
    }

    /** What whoever opens a session gets. */
    CompletionStage<Opening> opening(CompletionStage<Opening> opening) {
        return cluster.isPresent() ? opening.thenApply(this::face) : opening;
    }

    private Opening face(Opening opening) {
        if (opening instanceof Opening.Opened opened) {
            return new Opening.Opened(face(opened.session()), opened.response());
        }
        return opening instanceof Opening.Awaiting awaiting ? new Opening.Awaiting(face(awaiting.session())) : opening;
    }

    /** What whoever looks for a session gets. */
    CompletionStage<Finding> finding(CompletionStage<Finding> finding) {
        return cluster.isPresent() ? finding.thenApply(this::face) : finding;
    }

    private Finding face(Finding finding) {
        return finding instanceof Finding.Found found ? new Finding.Found(face(found.session())) : finding;
    }

    @Override
    public Iterable<LiveSession> sessions() {
        return node.live().all();
    }

    @Override
    public Optional<LiveSession> session(SessionKey key) {
        return node.live().get(key);
    }

    @Override
    public CompletionStage<Optional<SessionKey>> endOne(String principal) {
        return node.admission().endOne(principal);
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
    public boolean backendExistsOnce() {
        return backend.existsOnce();
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
    public boolean handingOver() {
        return node.drain().handingOver();
    }
}
