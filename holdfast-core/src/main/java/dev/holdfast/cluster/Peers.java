package dev.holdfast.cluster;

import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SharedSessionStore.Member;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The way to the other nodes that have a session. What does not arrive is made good by what the store has. */
final class Peers {
    private static final Logger logger = LoggerFactory.getLogger(Peers.class);

    private final NodeStore store;

    Peers(NodeStore store) {
        this.store = store;
    }

    /** Tells all others who have a session; completes with how many there are. */
    CompletionStage<Integer> tellOthers(SessionKey key, NodeMessage message) {
        return store.members(key).thenApply(members -> {
            List<Member> others =
                    members.stream().filter(member -> !here(key, member)).toList();
            tell(others, message);
            return others.size();
        });
    }

    private boolean here(SessionKey key, Member member) {
        return store.membership(key)
                .filter(own -> own.node.equals(member.node()))
                .isPresent();
    }

    /** Tells whoever has an epoch, on another node. */
    void tell(SessionKey key, int counter, NodeMessage message) {
        store.members(key)
                .thenAccept(members -> tell(
                        members.stream()
                                .filter(member -> member.epoch().counter() == counter && !here(key, member))
                                .toList(),
                        message))
                .whenComplete((done, failure) -> log(failure));
    }

    /** Tells these nodes. */
    void tell(List<Member> members, NodeMessage message) {
        members.stream()
                .map(Member::node)
                .filter(node -> !node.isEmpty())
                .distinct()
                .forEach(node -> tell(node, message));
    }

    /** Tells a node. */
    void tell(String node, NodeMessage message) {
        store.bus().send(node, message.pack()).whenComplete((sent, failure) -> log(failure));
    }

    private static void log(@Nullable Throwable failure) {
        if (failure != null) {
            logger.debug("another node could not be told", failure);
        }
    }
}
