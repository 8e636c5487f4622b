package dev.holdfast.cluster;

import dev.holdfast.session.StoreQuestion;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SharedSessionStore.Member;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The way to the other nodes that have a session. What does not arrive is made good by what the store has. */
final class Peers {
    private static final Logger logger = LoggerFactory.getLogger(Peers.class);

    private static final CompletionStage<Boolean> TOLD = CompletableFuture.completedFuture(true);

    private final NodeStore store;

    Peers(NodeStore store) {
        this.store = store;
    }

    /** Tells all others who have a session; completes with how many of them live, as far as is known. */
    CompletionStage<Integer> tellOthers(SessionKey key, NodeMessage message) {
        return store.members(key)
                .thenCompose(members -> tell(
                        members.stream().filter(member -> !here(key, member)).toList(), message));
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
        List<String> nodes = members.stream()
                .map(Member::node)
                .filter(node -> !node.isEmpty())
                .distinct()
                .toList();
        CompletionStage<Integer> living = CompletableFuture.completedFuture(0);
        for (String node : nodes) {
            living = living.thenCombine(tell(node, message), (before, lives) -> lives ? before + 1 : before);
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

    private static void log(@Nullable Throwable failure) {
        if (failure != null) {
            logger.debug("another node could not be told", failure);
        }
    }
}
