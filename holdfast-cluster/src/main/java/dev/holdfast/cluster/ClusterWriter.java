package dev.holdfast.cluster;

import dev.holdfast.EndReason;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.cluster.SharedSessionStore.Appended;
import dev.holdfast.cluster.SharedSessionStore.Counted;
import dev.holdfast.cluster.SharedSessionStore.Joined;
import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.log.BatchWriter;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.log.StoreQuestion.LeaseLostException;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.TooLargeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The shared store as the sessions of one node use it. To claim a session is to join it: what other nodes write is not part of the
 * claim. A commit that fails is sent again until the store has decided it, as long as this node has its lease; without one, nothing is
 * written. Epochs that nobody has any more are fenced: those of nodes that are dead, and those that a join of this node has made whose
 * answer was lost. Safe for use by any thread.
 */
final class ClusterWriter implements SessionStore {
    private static final int READ_BYTES = 1 << 20;
    /** No epoch is this one: those of a session count from 1. */
    private static final Epoch NOBODYS = new Epoch(0, 0);

    /** Of more sessions the epochs of lost joins wait for the end of this node. */
    private static final int MOST_LOST = 1_024;

    private static final CompletionStage<Boolean> STAYS = CompletableFuture.completedFuture(false);

    private final SharedSessionStore store;
    private final Lease lease;
    private final ClusterMembership.Host engine;
    private final Peers peers;
    private final Map<SessionKey, Membership> memberships = new ConcurrentHashMap<>();
    private final Set<SessionKey> lostJoins = ConcurrentHashMap.newKeySet();

    ClusterWriter(SharedSessionStore store, Lease lease, ClusterMembership.Host engine) {
        this.store = store;
        this.lease = lease;
        this.engine = engine;
        this.peers = new Peers(this, engine);
    }

    /** The right of this node to write. */
    Lease lease() {
        return lease;
    }

    /** The way to the other nodes. */
    Peers peers() {
        return peers;
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
        Supplier<CompletionStage<Void>> fencing = () -> fence(key, epochs.stream());
        // while this node lives nobody else does it; whoever finds it dead does
        CompletionStage<Void> unused = lease.held(node) ? lease.insist(node, fencing) : fencing.get();
    }

    @Override
    public Promise promise() {
        return store.promise();
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        return lease.firstOrPresent()
                .thenCompose(node -> store.create(key, epoch, record, node)
                        .thenAccept(created -> memberships.put(key, new Membership(node, epoch, 0, record))));
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return lease.firstOrPresent()
                .thenCompose(node -> join(key, nonce, node))
                .thenApply(joined -> joined.map(Joined::claim).map(ClusterWriter::ownPart));
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

    private CompletionStage<Optional<Joined>> join(SessionKey key, int nonce, String node) {
        boolean had = memberships.containsKey(key);
        return StoreQuestion.asked(() -> store.join(key, nonce, node))
                .whenComplete((joined, failure) -> {
                    if (failure != null) {
                        joinLost(key);
                    }
                })
                .thenApply(joined -> {
                    joined.ifPresent(found -> joined(key, node, found, had));
                    membership(key).ifPresent(own -> fenceLostJoins(key, own));
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
                before.heardOf(joined.version());
                return before;
            }
            return lease.held(node) ? fresh : before;
        });
        if (now == null || !now.has(epoch.counter())) {
            leave(key, node, List.of(epoch));
        }
    }

    /** The way of one session's batches into the store. */
    BatchWriter batches(Consumer<SessionKey> committed) {
        return new Batches(committed);
    }

    /** Numbers the batches, so that each may be sent again. The store places events of the listening stream. */
    private final class Batches implements BatchWriter {
        private final Consumer<SessionKey> committed;
        private @Nullable Epoch epoch;
        private long number;

        private Batches(Consumer<SessionKey> committed) {
            this.committed = committed;
        }

        @Override
        public boolean keeps() {
            return true;
        }

        @Override
        public boolean places() {
            return true;
        }

        @Override
        public CompletionStage<Void> write(SessionKey key, Epoch present, Append append, LongConsumer placed) {
            if (!present.equals(epoch)) {
                epoch = present;
                number = 0;
            }
            number++;
            CompletableFuture<Void> done = new CompletableFuture<>();
            commit(key, present, number, unplaced(append)).whenComplete((appended, failure) -> {
                if (failure == null) {
                    placed.accept(appended.listening());
                    done.complete(null);
                    committed.accept(key);
                    return;
                }
                if (failure instanceof TooLargeException) {
                    number--; // the store waits for it
                }
                done.completeExceptionally(
                        failure instanceof StoreUnavailableException ? new LeaseLostException() : failure);
            });
            return done;
        }

        private static Append unplaced(Append append) {
            if (append.events().stream().allMatch(event -> event.offset() != KeptEvent.UNPLACED)) {
                return append;
            }
            List<Event> all = new ArrayList<>(append.events());
            all.replaceAll(event -> event.offset() == KeptEvent.UNPLACED ? event.at(Event.UNPLACED) : event);
            return new Append(all, append.changes(), append.trims());
        }
    }

    /** Commits without a number. */
    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        return commit(key, epoch, SharedSessionStore.UNNUMBERED, append).thenAccept(appended -> {});
    }

    private CompletionStage<Appended> commit(SessionKey key, Epoch epoch, long number, Append append) {
        Membership membership = memberships.get(key);
        if (membership == null) {
            return CompletableFuture.failedFuture(new StaleEpochException(epoch, epoch));
        }
        Append own = unlowered(append, membership);
        CompletableFuture<Appended> done = new CompletableFuture<>();
        lease.insist(
                        membership.node,
                        () -> store.commit(key, epoch, number, own),
                        failure -> engine.session(key).ifPresent(session -> session.dismissClients(failure)))
                .whenComplete((appended, failure) -> {
                    if (failure != null) {
                        done.completeExceptionally(failure);
                        return;
                    }
                    membership.committed(own.changes(), appended);
                    countLonger(key, membership, own.changes());
                    done.complete(appended);
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

    /** A session counts among those of its principal for as long as its record is kept. What the store does not hear is made good later. */
    private void countLonger(SessionKey key, Membership membership, List<RecordChange> changes) {
        if (membership.principal.isEmpty()) {
            return;
        }
        for (RecordChange change : changes) {
            if (change instanceof RecordChange.Expires expires) {
                CompletionStage<Counted> unused = StoreQuestion.asked(
                        () -> store.count(membership.principal, key, expires.at(), Integer.MAX_VALUE));
            }
        }
    }

    /** Sets a token as {@link SharedSessionStore#token} does, under an epoch of this node. */
    CompletionStage<Long> token(SessionKey key, Epoch epoch, StreamId stream, Part part, long expected, long token) {
        Optional<Membership> own = membership(key);
        if (own.isEmpty()) {
            return CompletableFuture.failedFuture(new IllegalStateException("the session has left this node"));
        }
        return lease.held(own.get().node)
                ? StoreQuestion.asked(() -> store.token(key, epoch, stream, part, expected, token))
                        .whenComplete((now, failure) -> heard(key, own.get(), StoreQuestion.causeOf(failure)))
                : CompletableFuture.failedFuture(new StoreUnavailableException(null));
    }

    /** What the store says to whoever asks under an epoch concerns this node's part, if that is still the same. */
    private void heard(SessionKey key, Membership asked, @Nullable Throwable failure) {
        if (memberships.get(key) != asked) {
            return;
        }
        if (failure instanceof StaleEpochException) {
            engine.session(key).ifPresent(session -> session.fenced());
        } else if (failure instanceof IllegalStateException) {
            engine.session(key).ifPresent(session -> session.end(EndReason.TERMINATED));
        }
    }

    CompletionStage<List<Member>> members(SessionKey key) {
        return store.members(key);
    }

    ClusterBus bus() {
        return store.bus();
    }

    /** Whether somebody who has joined is still there. */
    CompletionStage<Boolean> lives(Optional<Member> member) {
        return member.isEmpty()
                ? CompletableFuture.completedFuture(false)
                : bus().living()
                        .thenApply(living -> living.contains(member.get().node()));
    }

    SharedSessionStore.Tail tail(SessionKey key, Runnable hinted) {
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

    /** Fences all of these, whatever the store throws at one of them; fails if one could not be fenced. */
    CompletionStage<Void> fence(SessionKey key, Stream<Epoch> epochs) {
        return CompletableFuture.allOf(epochs.map(epoch -> StoreQuestion.asked(() -> store.fence(key, epoch)))
                .map(CompletionStage::toCompletableFuture)
                .toArray(CompletableFuture[]::new));
    }

    /** Fences those who have joined a session and are dead. */
    CompletionStage<Void> fenceDead(SessionKey key) {
        return store.members(key)
                .thenCompose(members -> members.size() < 2
                        ? CompletableFuture.completedFuture(null)
                        : bus().living()
                                .thenCompose(living -> fence(
                                        key,
                                        members.stream()
                                                .filter(one -> !living.contains(one.node()))
                                                .map(Member::epoch))));
    }

    /** The answer to a join was lost. */
    private void joinLost(SessionKey key) {
        if (lostJoins.size() < MOST_LOST) {
            lostJoins.add(key);
        }
    }

    /** Fences what this node has of a session that was joined, beside its part. */
    private void fenceLostJoins(SessionKey key, Membership own) {
        if (lostJoins.remove(key)) {
            StoreQuestion.asked(() -> store.members(key))
                    .thenCompose(members -> fence(
                            key,
                            members.stream()
                                    .filter(one -> one.node().equals(own.node)
                                            && !own.has(one.epoch().counter()))
                                    .map(Member::epoch)))
                    .whenComplete((done, failure) -> {
                        if (failure != null) {
                            joinLost(key);
                        }
                    });
        }
    }

    /** Ends a session for every node: who has joined it knows when this completes, and it counts no more for its principal. */
    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        Optional<Membership> own = membership(key);
        return principal(key, own)
                .thenCompose(who -> store.remove(key)
                        .thenCompose(members -> peers.endKnown(key, others(members, own)))
                        .thenCompose(done -> uncount(who, key)));
    }

    private static List<Member> others(List<Member> all, Optional<Membership> own) {
        return all.stream()
                .filter(member ->
                        own.filter(here -> here.node.equals(member.node())).isEmpty())
                .toList();
    }

    /** Completes with whose session it is; empty for nobody, and where that cannot be found out. */
    private CompletionStage<String> principal(SessionKey key, Optional<Membership> own) {
        return own.<CompletionStage<String>>map(here -> CompletableFuture.completedFuture(here.principal))
                .orElseGet(() -> store.look(key)
                        .thenApply(look ->
                                look.map(found -> found.record().principal()).orElse(""))
                        .exceptionally(failure -> ""));
    }

    /** A session counts no more for its principal; completes when the store knows, or has failed. */
    CompletionStage<Void> uncount(String principal, SessionKey key) {
        return principal.isEmpty()
                ? CompletableFuture.completedFuture(null)
                : StoreQuestion.asked(() -> store.uncount(principal, key)).exceptionally(failure -> null);
    }

    /** Lets a session count among those of its principal, as {@link SharedSessionStore#count} does. */
    CompletionStage<Counted> count(String principal, SessionKey key, long until, int most) {
        return store.count(principal, key, until, most);
    }

    /** Ends a session here, and for good if no other node has it, or will need what it has left behind. */
    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        Optional<Membership> own = membership(key);
        long expiresAt = own.map(Membership::expiresAt).orElse(Long.MAX_VALUE);
        return store.look(key).thenCompose(look -> {
            boolean needed =
                    look.filter(found -> found.record().expiresAt() > expiresAt).isPresent();
            return needed ? STAYS : deleteUnlessPresent(key, epoch, own, look);
        });
    }

    private CompletionStage<Boolean> deleteUnlessPresent(
            SessionKey key, Epoch epoch, Optional<Membership> own, Optional<Look> kept) {
        return fence(key, own.stream().flatMap(here -> here.epochs.stream()).filter(one -> !one.equals(epoch)))
                .thenCompose(fenced -> fenceDead(key))
                .thenCompose(fenced -> delete(key, epoch, kept));
    }

    /**
     * Ends a session that was not used here for so long, and for good if no other node ever had it. One that did may have used it
     * later and be gone: then the store lets it expire.
     */
    CompletionStage<Boolean> expire(SessionKey key, Epoch epoch) {
        Optional<Membership> own = membership(key);
        return store.look(key).thenCompose(look -> {
            boolean alone = look.flatMap(found -> own.filter(here -> here.isAlone(found.epoch())))
                    .isPresent();
            return alone || look.isEmpty()
                    ? deleteUnlessPresent(key, epoch, own, look)
                    : fenceDead(key).thenCompose(fenced -> STAYS);
        });
    }

    private CompletionStage<Boolean> delete(SessionKey key, Epoch epoch, Optional<Look> kept) {
        String principal = kept.map(found -> found.record().principal()).orElse("");
        return store.delete(key, epoch)
                .thenCompose(gone -> gone ? uncount(principal, key).thenApply(done -> true) : STAYS);
    }

    /** Ends a session that waits for its client, and that no node has; completes with whether it has ended. */
    CompletionStage<Boolean> endWaiting(SessionKey key) {
        // a node has its lease before it joins: whoever is asked for it after that is not missed
        return store.members(key)
                .thenCompose(members -> bus().living()
                        .thenCompose(living -> members.stream().anyMatch(one -> living.contains(one.node()))
                                ? STAYS
                                : fence(key, members.stream().map(Member::epoch))
                                        .thenCompose(fenced -> store.look(key))
                                        .thenCompose(look -> look.isEmpty() ? STAYS : delete(key, NOBODYS, look))));
    }

    /** Does nothing: whoever made the store closes it. */
    @Override
    public void close() {}
}
