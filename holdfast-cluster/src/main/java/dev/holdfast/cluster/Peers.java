package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.spi.SessionKey;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The way to the other nodes that have a session. What the store keeps makes up for a message that does not arrive. */
final class Peers {
    private static final Logger logger = LoggerFactory.getLogger(Peers.class);

    private static final CompletionStage<Boolean> TOLD = CompletableFuture.completedFuture(true);

    private static final long FIRST_PAUSE_MILLIS = 50;
    private static final long MOST_PAUSE_MILLIS = 500;

    private final ClusterWriter store;
    private final ClusterMembership.Host engine;
    private final AtomicLong numbers = new AtomicLong();
    private final Map<Long, Announcement> announced = new ConcurrentHashMap<>();

    Peers(ClusterWriter store, ClusterMembership.Host engine) {
        this.store = store;
        this.engine = engine;
    }

    /** Tells all others who have a session; completes with how many of them live, as far as is known. */
    CompletionStage<Integer> tellOthers(SessionKey key, NodeMessage message) {
        return others(key).thenCompose(members -> tell(members, message));
    }

    /**
     * Tells all others who have a session something that the store does not keep; completes with how many of them live.
     *
     * @return fails where one that lives may not hear of it
     */
    CompletionStage<Integer> deliver(SessionKey key, NodeMessage message) {
        return others(key).thenCompose(members -> each(members, node -> deliver(node, message)));
    }

    /** Completes with whether there may be any; never fails. */
    CompletionStage<Boolean> mayBe(SessionKey key) {
        return StoreQuestion.ask(() -> others(key)).handle((others, failure) -> failure != null || !others.isEmpty());
    }

    private CompletionStage<List<Member>> others(SessionKey key) {
        return store.members(key)
                .thenApply(members ->
                        members.stream().filter(member -> !here(key, member)).toList());
    }

    private boolean here(SessionKey key, Member member) {
        return store.membership(key)
                .filter(own -> own.node.equals(member.node()))
                .isPresent();
    }

    /** Tells whoever has an epoch, on another node. */
    void tell(SessionKey key, int counter, NodeMessage message) {
        store.members(key)
                .thenCompose(members -> tell(
                        members.stream()
                                .filter(member -> member.epoch().counter() == counter && !here(key, member))
                                .toList(),
                        message))
                .whenComplete((done, failure) -> log(failure));
    }

    /** Tells these nodes; completes with how many of them live, as far as is known. */
    CompletionStage<Integer> tell(List<Member> members, NodeMessage message) {
        return each(members, node -> tell(node, message));
    }

    private static CompletionStage<Integer> each(
            List<Member> members, Function<String, CompletionStage<Boolean>> telling) {
        List<String> nodes = members.stream()
                .map(Member::node)
                .filter(node -> !node.isEmpty())
                .distinct()
                .toList();
        CompletionStage<Integer> living = CompletableFuture.completedFuture(0);
        for (String node : nodes) {
            living = living.thenCombine(telling.apply(node), (before, lives) -> lives ? before + 1 : before);
        }
        return living;
    }

    /** Tells a node; completes with whether it lives, as far as is known. One that does not has the session no more. */
    CompletionStage<Boolean> tell(String node, NodeMessage message) {
        return StoreQuestion.ask(() -> store.bus().send(node, message.pack()))
                .thenCompose(
                        sent -> sent ? TOLD : store.fenceDead(message.key()).thenApply(fenced -> false))
                .exceptionally(failure -> {
                    log(failure);
                    return true;
                });
    }

    /**
     * Completes when every other node that has a session knows of this version of its journal, has the session no more, or can commit
     * nothing of it: whoever says nothing for the length of a lease is fenced. Fails where this node loses its lease meanwhile.
     */
    CompletionStage<Void> journalKnown(SessionKey key, long version) {
        return announce(
                (from, number) -> new NodeMessage.Journaled(key, version, from, number),
                // whoever joins from now on gets that version with the record
                () -> others(key));
    }

    /** The same for the end of a session, which these nodes had. Never fails: whoever is not told learns of it with its next commit. */
    CompletionStage<Void> endKnown(SessionKey key, List<Member> members) {
        return announce(
                        (from, number) -> new NodeMessage.Ended(key, from, number),
                        () -> CompletableFuture.completedFuture(members))
                .exceptionally(failure -> {
                    log(failure);
                    return null;
                });
    }

    private CompletionStage<Void> announce(
            BiFunction<String, Long, NodeMessage> message, Supplier<CompletionStage<List<Member>>> present) {
        long number = numbers.incrementAndGet();
        return StoreQuestion.ask(() -> {
                    String from = store.lease().node();
                    return store.lease().insist(from, present).thenCompose(members -> {
                        // whoever is told has the length of a lease from now on, however long the store took to name
                        // them
                        Announcement announcement = new Announcement(from, message.apply(from, number), present);
                        announced.put(number, announcement);
                        return announcement.send(members, FIRST_PAUSE_MILLIS);
                    });
                })
                .whenComplete((done, failure) -> announced.remove(number));
    }

    /** Whoever calls the session here from now on is served behind that; while this incarnation joins, it is told once more. */
    void heardOf(NodeMessage.Journaled journaled) {
        store.membership(journaled.key())
                .filter(own -> store.lease().held(own.node))
                .ifPresent(own -> {
                    own.heardOf(journaled.version());
                    know(journaled.key(), () -> own.node, journaled.from(), journaled.number());
                });
    }

    /** Tells who has announced something that an incarnation of this node knows it. */
    void know(SessionKey key, Supplier<String> node, String from, long number) {
        StoreQuestion.ask(() -> store.bus().send(from, new NodeMessage.Known(key, node.get(), number).pack()))
                .whenComplete((sent, failure) -> log(failure));
    }

    /** Another node knows what this one has announced. */
    void known(NodeMessage.Known known) {
        Announcement announcement = announced.get(known.number());
        if (announcement != null) {
            announcement.knows(known.node());
        }
    }

    /** What other nodes are to know of a session before this one goes on. It is sent again until they say so: they may be joining it. */
    private final class Announcement {
        private final String from;
        private final NodeMessage message;
        private final Supplier<CompletionStage<List<Member>>> present;
        private final long began = engine.setting().clock().getAsLong();
        private final Set<String> knowing = ConcurrentHashMap.newKeySet();
        /** Completes when all know to whom it was sent last. */
        private volatile Round round = new Round(Set.of());

        private record Round(Set<String> nodes, CompletableFuture<Void> over) {
            Round(Set<String> nodes) {
                this(nodes, new CompletableFuture<>());
            }
        }

        private Announcement(String from, NodeMessage message, Supplier<CompletionStage<List<Member>>> present) {
            this.from = from;
            this.message = message;
            this.present = present;
        }

        /**
         * Sends it to those who do not know it.
         *
         * @param pause after which it is sent again
         */
        CompletionStage<Void> send(List<Member> members, long pause) {
            List<Member> left = members.stream()
                    .filter(member -> !member.node().isEmpty() && !knowing.contains(member.node()))
                    .toList();
            if (left.isEmpty()) {
                return SessionLog.DONE;
            }
            long waited = engine.setting().clock().getAsLong() - began;
            if (waited >= engine.setting().lease().toNanos()) {
                return store.lease()
                        .insist(
                                from,
                                () -> store.fence(message.key(), left.stream().map(Member::epoch)));
            }
            Round sent = new Round(left.stream().map(Member::node).collect(Collectors.toUnmodifiableSet()));
            round = sent;
            for (String node : sent.nodes()) {
                deliver(node, message).whenComplete((lives, failure) -> {
                    if (failure == null && !lives) {
                        knows(node);
                    }
                });
            }
            engine.later(() -> sent.over().complete(null), pause);
            return sent.over()
                    .thenCompose(over -> store.lease().insist(from, present))
                    .thenCompose(still -> {
                        List<Member> asked =
                                left.stream().filter(still::contains).toList();
                        return send(asked, Math.min(2 * pause, MOST_PAUSE_MILLIS));
                    });
        }

        private void knows(String node) {
            knowing.add(node);
            Round now = round;
            if (knowing.containsAll(now.nodes())) {
                now.over().complete(null);
            }
        }
    }

    /** The same, but fails where a node that lives may not hear of it. */
    private CompletionStage<Boolean> deliver(String node, NodeMessage message) {
        return StoreQuestion.ask(() -> store.bus().send(node, message.pack()))
                .thenCompose(sent -> sent ? TOLD : StoreQuestion.ask(() -> notTaken(node, message.key())));
    }

    /** A node does not live any more, or has too much in its inbox. */
    private CompletionStage<Boolean> notTaken(String node, SessionKey key) {
        return store.fenceDead(key).thenCompose(fenced -> store.bus().living()).thenApply(living -> {
            if (living.contains(node)) {
                throw new IllegalStateException("a node has too much in its inbox");
            }
            return false;
        });
    }

    private static void log(@Nullable Throwable failure) {
        if (failure != null) {
            logger.debug("another node could not be told", failure);
        }
    }
}
