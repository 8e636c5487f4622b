package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.spi.SessionKey;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The way to the other nodes that have a session. What the store keeps makes up for a message that does not arrive. */
final class Peers {
    private static final Logger logger = LoggerFactory.getLogger(Peers.class);

    private static final CompletionStage<Boolean> TOLD = CompletableFuture.completedFuture(true);

    private final ClusterWriter store;

    Peers(ClusterWriter store) {
        this.store = store;
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
