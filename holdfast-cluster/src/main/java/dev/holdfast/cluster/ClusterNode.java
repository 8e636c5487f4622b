package dev.holdfast.cluster;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.log.BatchWriter;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.Step;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.log.StoreQuestion.UnreadableException;
import dev.holdfast.log.Streams;
import dev.holdfast.session.Cancellation;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.RecordState;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Look;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.TooLargeException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One node of a cluster: wires its parts, and dispatches the messages of other nodes. Safe for use by any thread. */
final class ClusterNode implements ClusterMembership {
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
    private final Placement placement;
    private final Tails tails;
    private final SharedReaders readers;
    private final JournalVersions versions;
    private final BackendInbox inbox;
    /** The way to the node that has the backend of a session, where that exists once. */
    private final Optional<CallForwarder> forwarder;

    private volatile List<Future<?>> running = List.of();

    ClusterNode(SharedSessionStore shared, ClusterMembership.Host engine) {
        this.engine = engine;
        this.setting = engine.setting();
        this.lease = new Lease(shared.bus(), engine, this::message, this::lost);
        this.store = new ClusterWriter(shared, lease, engine);
        this.quota = new PrincipalQuota(store, engine);
        this.placement = new Placement(store, engine.backendExistsOnce());
        StreamWriters writers = new StreamWriters(store, placement);
        this.tails = new Tails(store, writers, placement);
        this.readers = new SharedReaders(store, writers, tails);
        this.versions = new JournalVersions(store, this::mayBlock);
        this.inbox = new BackendInbox(store, versions, this::mayBlock);
        this.forwarder = engine.backendExistsOnce()
                ? Optional.of(new CallForwarder(store, placement, versions, inbox, writers, readers, engine))
                : Optional.empty();
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
    public Session view(LiveSession session) {
        return new SharedSession(session);
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
        streams.release(streams.listening(), streams.listening().confirmed(), step);
    }

    /** Who reads on another node would be asked what nobody waits for. */
    @Override
    public void withdrawn(List<KeptEvent> questions, Streams streams, Step step) {
        questions.stream()
                .filter(question -> question.stream.listening())
                .forEach(question -> streams.forget(question, step));
    }

    @Override
    public CompletionStage<Optional<SessionRecord>> initializedElsewhere(SessionKey key) {
        return store.look(key)
                .thenApply(look -> look.map(Look::record)
                        .filter(record -> !record.revision().isEmpty()));
    }

    @Override
    public CompletionStage<Boolean> mayOpenBackend(SessionKey key) {
        return engine.session(key).map(placement::mayRun).orElseGet(() -> CompletableFuture.completedFuture(false));
    }

    @Override
    public CompletionStage<Void> journalReached(SessionKey key) {
        return engine.session(key)
                .map(versions::insistOnCatchUp)
                .orElseGet(() -> CompletableFuture.completedFuture(null));
    }

    @Override
    public CompletionStage<Void> journalTold(SessionKey key) {
        return store.membership(key)
                .map(own -> store.peers().journalKnown(key, own.newest()))
                .orElse(SessionLog.DONE);
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

    private void lost() {
        forwarder.ifPresent(CallForwarder::giveUp);
        engine.sessions().forEach(session -> session.leaseLost());
    }

    private void message(byte[] bytes) {
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
        } else if (message instanceof NodeMessage.Known known) {
            store.peers().known(known);
        } else if (message instanceof NodeMessage.Ended ended) {
            engine.session(ended.key()).ifPresent(session -> session.end(EndReason.TERMINATED));
            store.peers().know(ended.key(), lease::node, ended.from(), ended.number());
        } else if (inbox.comesFirst(message)) {
            if (message instanceof NodeMessage.Journaled journaled) {
                store.peers().heardOf(journaled);
            }
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
            placement.readElsewhere(session);
        } else {
            inbox.heard(session, message, bytes);
        }
    }

    /**
     * A session as those who talk to its client use it: calls run here, with streams of their own; what other nodes have of it is read
     * from the store, and reached through their inboxes.
     */
    private final class SharedSession implements Session {
        private final LiveSession here;

        private SharedSession(LiveSession here) {
            this.here = here;
        }

        @Override
        public String id() {
            return here.id();
        }

        @Override
        public String shortId() {
            return here.shortId();
        }

        @Override
        public String revision() {
            return here.revision();
        }

        @Override
        public String kind() {
            return here.kind();
        }

        @Override
        public SessionState state() {
            return here.state();
        }

        /** Asks; how it fails is one. Where what the store has will never be readable, the session ends. */
        private <T> CompletionStage<T> ask(Supplier<CompletionStage<T>> question) {
            return StoreQuestion.ask(question).whenComplete((answer, failure) -> {
                if (StoreQuestion.causeOf(failure) instanceof UnreadableException lost) {
                    here.unreadable(lost);
                }
            });
        }

        @Override
        public CompletionStage<Call.Outcome> call(List<InboundMessage> requests) {
            if (!engine.storeWorks()) {
                return CompletableFuture.failedFuture(new StoreUnavailableException(null));
            }
            return forwarder.isPresent()
                    ? ask(() -> forwarder.get().call(here, requests))
                    : here.call(requests).thenCompose(outcome -> versions.catchUpFor(here, outcome));
        }

        @Override
        public CompletionStage<Optional<Refusal>> notify(InboundMessage notification) {
            if (!(notification.journal() instanceof JournalChange.None) && !engine.storeWorks()) {
                return CompletableFuture.failedFuture(new StoreUnavailableException(null));
            }
            if (forwarder.isPresent()) {
                return ask(() -> forwarder.get().notify(here, notification));
            }
            return inbox.notifyOwn(here, notification);
        }

        @Override
        public CompletionStage<Boolean> answer(InboundMessage response) {
            return here.answer(response)
                    .thenCompose(taken -> taken ? CompletableFuture.completedFuture(true) : deliver(response));
        }

        /** Whoever has asked gets an error in the place of an answer that is too large to be sent there. */
        private CompletionStage<Boolean> deliver(InboundMessage response) {
            return ask(() -> store.peers().deliver(here.key(), new NodeMessage.Answered(here.key(), response)))
                    .thenApply(others -> others > 0)
                    .exceptionallyCompose(failure -> CallForwarder.isTooLarge(failure)
                            ? deliver(here.tooLarge(response))
                            : CompletableFuture.failedFuture(failure));
        }

        /**
         * Tells other nodes of a cancellation. Where a backend exists once, its node may receive the cancellation before the call. If the
         * call arrived at this node, or runs here, its number is known, and the cancellation names it: for the node that runs the call, and
         * for the node that forwarded it and would run it anew if this node died. Otherwise the cancellation is sent to all nodes, twice. A
         * call that arrives after both was already being forwarded when the first was sent; the node that forwards it sends the
         * cancellation again once it learns what has become of the call. Nobody does if that node dies before, loses its lease, or finds
         * the inbox of the other node full.
         */
        @Override
        public CompletionStage<Void> cancel(RequestId request, InboundMessage notification) {
            boolean once = forwarder.isPresent();
            long number = forwarder.map(CallForwarder::nextNumber).orElse(Cancellation.ONCE);
            Cancellation cancellation = new Cancellation(request, notification, number, Cancellation.ANY);
            OptionalLong found = here.cancel(cancellation);
            if (found.isPresent()) {
                return found.getAsLong() == Cancellation.ANY
                        ? CompletableFuture.completedFuture(null)
                        : tellOthers(cancellation.of(found.getAsLong()));
            }
            CompletionStage<Void> told = tellOthers(cancellation);
            return once
                    ? told.thenCompose(done -> tellOthers(cancellation))
                            .thenRunAsync(() -> here.cancel(cancellation), inbox.blocking())
                    : told;
        }

        private CompletionStage<Void> tellOthers(Cancellation cancellation) {
            Cancellation told = here.toldElsewhere(cancellation);
            Optional<String> began = store.membership(here.key()).map(own -> own.node);
            return ask(() -> store.peers()
                    .deliver(here.key(), new NodeMessage.Cancelled(here.key(), told))
                    .thenAccept(others -> {
                        if (began.filter(lease::held).isEmpty()) {
                            // what this node has begun may have begun elsewhere since, under another number
                            throw new StoreUnavailableException(null);
                        }
                    }));
        }

        @Override
        public CompletionStage<Resume> listen() {
            return engine.handingOver() ? drained() : ask(() -> readers.listen(here));
        }

        @Override
        public CompletionStage<Resume> resume(EventId after) {
            return engine.handingOver() ? drained() : ask(() -> readers.resume(here, after));
        }

        private static CompletionStage<Resume> drained() {
            return CompletableFuture.completedFuture(new Resume.Closed(EndReason.DRAINED));
        }

        @Override
        public CompletionStage<Optional<KeptStream>> kept(StreamId stream) {
            return ask(() -> readers.kept(here, stream));
        }

        @Override
        public boolean crowded() {
            return here.crowded();
        }

        @Override
        public CompletionStage<Void> terminate() {
            return here.terminate();
        }
    }
}
