package dev.holdfast.cluster;

import dev.holdfast.StoreUnavailableException;
import dev.holdfast.session.LeaseLostException;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.ClusterSupport;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The shared store as the sessions of one node use it. To claim a session is to join it: what other nodes write is not part of the
 * claim. A commit that fails is sent again until the store has decided it, as long as this node has its lease; without one, nothing is
 * written.
 */
final class NodeStore implements SharedSessionStore {
    private static final int READ_BYTES = 1 << 20;

    private final SharedSessionStore store;
    private final Fences fences;
    private final Lease lease;
    private final Surroundings surroundings;
    private final Map<SessionKey, Membership> memberships = new ConcurrentHashMap<>();
    private final LostJoins lostJoins;
    private final PrincipalCounts counts;
    private final SessionDeletion deletion;
    private final LastingQuestions questions;

    /** What it needs of its node. */
    interface Surroundings extends LastingQuestions.Surroundings {
        /** This node has committed something to a session. */
        void committed(SessionKey key);

        /** The store takes no commit of a session for longer than whoever waits for it should have to. */
        void stuck(SessionKey key, Throwable failure);

        /** This node has deleted a session that these have too. */
        void deleted(SessionKey key, List<Member> others);

        /** The store has no such session any more. */
        void gone(SessionKey key);

        /** The epoch of this node is not present in a session. */
        void fenced(SessionKey key);
    }

    NodeStore(SharedSessionStore store, Lease lease, Surroundings surroundings) {
        this.store = store;
        this.fences = new Fences(store);
        this.lostJoins = new LostJoins(store);
        this.counts = new PrincipalCounts(store);
        this.deletion = new SessionDeletion(store, counts, surroundings::deleted);
        this.lease = lease;
        this.surroundings = surroundings;
        this.questions = new LastingQuestions(lease, surroundings);
    }

    /** This node's part of a session, if it has one. */
    Optional<Membership> membership(SessionKey key) {
        return Optional.ofNullable(memberships.get(key));
    }

    /** Whether the incarnation that has this node's part of a session may write now. */
    boolean holds(SessionKey key) {
        return membership(key).filter(own -> lease.held(own.node)).isPresent();
    }

    /** The session has left this node's memory. */
    void left(SessionKey key) {
        Membership left = memberships.remove(key);
        if (left != null) {
            leave(key, left.node, left.epochs);
        }
    }

    /** An incarnation of this node has these epochs no more. */
    private void leave(SessionKey key, String node, List<Epoch> epochs) {
        Supplier<CompletionStage<Void>> fencing = () -> fences.all(key, epochs.stream());
        // while this node lives nobody else does it; whoever finds it dead does
        CompletionStage<Void> unused = lease.held(node) ? insist(node, fencing) : fencing.get();
    }

    /** Whether the store has failed something that is asked again and again. */
    boolean unanswered() {
        return questions.unanswered();
    }

    /** The lease is lost: nobody waits any longer for what the store has not decided. */
    void giveUp() {
        questions.giveUp();
    }

    @Override
    public Promise promise() {
        return store.promise();
    }

    @Override
    public Optional<ClusterSupport> cluster() {
        return store.cluster();
    }

    @Override
    public ClusterBus bus() {
        return store.bus();
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        return lease.firstOrPresent().thenCompose(node -> create(key, epoch, record, node));
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record, String node) {
        return store.create(key, epoch, record, node)
                .thenAccept(created -> memberships.put(key, new Membership(node, epoch, 0, record)));
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return lease.firstOrPresent()
                .thenCompose(node -> join(key, nonce, node))
                .thenApply(joined -> joined.map(Joined::claim).map(NodeStore::ownPart));
    }

    /** What is kept of a session but for what others write. */
    private static Claim ownPart(Claim claim) {
        SessionRecord record = claim.record();
        SessionRecord own = new SessionRecord(
                record.version(),
                record.kind(),
                record.principal(),
                record.expiresAt(),
                record.extension(),
                record.revision(),
                record.journal(),
                Map.of());
        return new Claim(claim.epoch(), claim.before(), own, Map.of(), claim.certainFrom());
    }

    @Override
    public CompletionStage<Optional<Joined>> join(SessionKey key, int nonce, String node) {
        boolean had = memberships.containsKey(key);
        CompletionStage<Optional<Joined>> join = StoreQuestion.asked(() -> store.join(key, nonce, node))
                .whenComplete((joined, failure) -> {
                    if (failure != null) {
                        lostJoins.lost(key);
                    }
                });
        return join.thenApply(joined -> {
            joined.ifPresent(found -> joined(key, node, found, had));
            membership(key).ifPresent(own -> lostJoins.joined(key, own));
            return joined;
        });
    }

    /**
     * The store has made an epoch for an incarnation. Nobody here has it where the session has left since, or the next incarnation has it.
     *
     * @param had whether the session was here when it was asked for
     */
    private void joined(SessionKey key, String node, Joined joined, boolean had) {
        Epoch epoch = joined.claim().epoch();
        Membership fresh =
                new Membership(node, epoch, joined.version(), joined.claim().record());
        Membership now = memberships.compute(key, (name, before) -> {
            if (before == null) {
                return had ? null : fresh;
            }
            if (before.node.equals(node)) {
                before.epochs.add(epoch);
                return before;
            }
            return lease.held(node) ? fresh : before;
        });
        if (now == null || !now.has(epoch.counter())) {
            leave(key, node, List.of(epoch));
        }
    }

    @Override
    public CompletionStage<Boolean> fence(SessionKey key, Epoch epoch) {
        return store.fence(key, epoch);
    }

    @Override
    public CompletionStage<List<Member>> members(SessionKey key) {
        return store.members(key);
    }

    /** Whether somebody who has joined is still there. */
    CompletionStage<Boolean> lives(Optional<Member> member) {
        return member.isEmpty()
                ? CompletableFuture.completedFuture(false)
                : store.bus()
                        .living()
                        .thenApply(living -> living.contains(member.get().node()));
    }

    @Override
    public CompletionStage<Appended> commit(SessionKey key, Epoch epoch, long number, Append append) {
        Membership membership = memberships.get(key);
        if (membership == null) {
            return CompletableFuture.failedFuture(new StaleEpochException(epoch, epoch));
        }
        Append own = unlowered(append, membership);
        CompletableFuture<Appended> done = new CompletableFuture<>();
        CompletionStage<Appended> asked = questions.ask(
                membership.node,
                () -> store.commit(key, epoch, number, own),
                failure -> surroundings.stuck(key, failure));
        asked.whenComplete((appended, failure) -> {
            if (failure == null) {
                membership.committed(own.changes(), appended);
                counts.changed(key, membership, own.changes());
                done.complete(appended);
                surroundings.committed(key);
            } else if (failure instanceof StoreUnavailableException) {
                done.completeExceptionally(new LeaseLostException());
            } else {
                done.completeExceptionally(failure);
            }
        });
        return done;
    }

    /** Nobody lets a session expire sooner than others who have it need it. */
    private static Append unlowered(Append append, Membership membership) {
        List<RecordChange> changes = append.changes().stream()
                .filter(change ->
                        !(change instanceof RecordChange.Expires expires) || expires.at() >= membership.expiresAt())
                .toList();
        return changes.size() == append.changes().size()
                ? append
                : new Append(append.events(), changes, append.trims());
    }

    /**
     * Asks until the store has answered, as long as an incarnation of this node has its lease.
     *
     * @return fails as the store has decided, or with a {@link StoreUnavailableException} when the lease is lost
     */
    <T> CompletionStage<T> insist(String node, Supplier<CompletionStage<T>> question) {
        return questions.ask(node, question, failure -> {});
    }

    @Override
    public CompletionStage<Long> token(
            SessionKey key, Epoch epoch, StreamId stream, Part part, long expected, long token) {
        Optional<Membership> own = membership(key);
        if (own.isEmpty()) {
            return CompletableFuture.failedFuture(new IllegalStateException("the session has left this node"));
        }
        return lease.held(own.get().node)
                ? StoreQuestion.asked(() -> store.token(key, epoch, stream, part, expected, token))
                        .whenComplete((now, failure) -> heard(key, own.get(), LastingQuestions.causeOf(failure)))
                : CompletableFuture.failedFuture(new StoreUnavailableException(null));
    }

    /** What the store says to whoever asks under an epoch concerns this node's part, if that is still the same. */
    private void heard(SessionKey key, Membership asked, @Nullable Throwable failure) {
        if (memberships.get(key) != asked) {
            return;
        }
        if (failure instanceof StaleEpochException) {
            surroundings.fenced(key);
        } else if (failure instanceof IllegalStateException) {
            surroundings.gone(key);
        }
    }

    @Override
    public CompletionStage<Counted> count(String principal, SessionKey key, long until, int most) {
        return store.count(principal, key, until, most);
    }

    @Override
    public CompletionStage<Void> uncount(String principal, SessionKey key) {
        return store.uncount(principal, key);
    }

    @Override
    public Tail tail(SessionKey key, Runnable hinted) {
        return store.tail(key, hinted);
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return store.look(key);
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return store.read(key, stream, after, maxBytes);
    }

    /** Reads all that is kept of a stream. */
    CompletionStage<List<Event>> all(SessionKey key, StreamId stream) {
        return all(key, stream, 0, new ArrayList<>());
    }

    private CompletionStage<List<Event>> all(SessionKey key, StreamId stream, long after, List<Event> into) {
        return store.read(key, stream, after, READ_BYTES).thenCompose(events -> {
            into.addAll(events);
            return events.isEmpty()
                    ? CompletableFuture.completedFuture(into)
                    : all(key, stream, events.get(events.size() - 1).offset(), into);
        });
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        return deletion.everywhere(key, membership(key));
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return deletion.unlessNeeded(key, epoch, membership(key));
    }

    /** Ends a session here whose time is over, and in the store if no other node may have used it later. */
    CompletionStage<Boolean> expire(SessionKey key, Epoch epoch) {
        return deletion.unlessShared(key, epoch, membership(key));
    }

    /** How sessions end in the store. */
    SessionDeletion deletion() {
        return deletion;
    }

    /** Fences those who have joined a session and are dead. */
    CompletionStage<Void> fenceDead(SessionKey key) {
        return deletion.fenceDead(key);
    }

    /** Fences all of these. */
    CompletionStage<Void> fence(SessionKey key, Stream<Epoch> epochs) {
        return fences.all(key, epochs);
    }

    /** Does nothing: whoever made the store closes it. */
    @Override
    public void close() {}
}
