package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.SingleFlight;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Where the backend of a session is: on this node, unless it exists once in the cluster. Then a token names the epoch that has it, at
 * first the one that has opened the session. A node that finds that epoch dead fences it, takes over its journal, and gets the token by
 * compare-and-set; so the node with the token has the journal too, and opens a fresh backend from it.
 */
final class Placement {
    /** The counter of a session's first epoch. */
    private static final int OPENER = 1;

    /** Where it is. */
    sealed interface Place {}

    /** On this node. */
    record Here() implements Place {}

    /** On another node, which lives. */
    record There(Member member) implements Place {}

    /** On no node that lives; and this one, which drains, takes it over from none. */
    record Nowhere() implements Place {}

    private final ClusterWriter store;
    private final boolean once;
    private final SingleFlight<LiveSession, Long> takeovers = new SingleFlight<>();

    /**
     * @param once whether a session has one backend in the whole cluster
     */
    Placement(ClusterWriter store, boolean once) {
        this.store = store;
        this.once = once;
    }

    /** Completes with whether the backend of a session is on this node, or may be opened here. */
    CompletionStage<Boolean> mayRun(LiveSession session) {
        return once ? of(session).thenApply(Here.class::isInstance) : CompletableFuture.completedFuture(true);
    }

    private static CompletionStage<Place> is(Place place) {
        return CompletableFuture.completedFuture(place);
    }

    /** Finds the only one, and takes it over from a node that has died, unless this one drains. */
    CompletionStage<Place> of(LiveSession session) {
        SessionKey key = session.key();
        return token(session).thenCompose(token -> {
            int counter = token == SharedSessionStore.NO_TOKEN ? OPENER : (int) (long) token;
            Optional<Membership> own = store.membership(key);
            if (own.filter(here -> here.has(counter)).isPresent()) {
                return is(new Here());
            }
            return store.members(key).thenCompose(members -> {
                Optional<Member> member = members.stream()
                        .filter(one -> one.epoch().counter() == counter)
                        .findFirst();
                return elsewhere(member, own).thenCompose(there -> {
                    if (there) {
                        return is(new There(member.orElseThrow()));
                    }
                    return session.draining() ? is(new Nowhere()) : takeOver(session, token, member);
                });
            });
        });
    }

    /** Whether another node has it, and lives. An epoch of this node that the session here does not have was left behind. */
    private CompletionStage<Boolean> elsewhere(Optional<Member> member, Optional<Membership> own) {
        return store.lives(member.filter(
                one -> own.filter(here -> here.node.equals(one.node())).isEmpty()));
    }

    private CompletionStage<Long> token(LiveSession session) {
        return token(session, SharedSessionStore.NO_TOKEN, SharedSessionStore.NO_TOKEN);
    }

    private CompletionStage<Long> token(LiveSession session, long expected, long token) {
        return store.token(session.key(), session.epoch(), StreamId.LISTENING, Part.BACKEND, expected, token);
    }

    /** Takes it over, once for all who need it here; then they look again, for another node may be quicker. */
    private CompletionStage<Place> takeOver(LiveSession session, long before, Optional<Member> dead) {
        return takeovers
                .of(
                        session,
                        () -> StoreQuestion.ask(() -> token(session)
                                .thenCompose(now -> now == before
                                        ? take(session, before, dead)
                                        : CompletableFuture.completedFuture(now))))
                .thenCompose(now -> of(session));
    }

    private CompletionStage<Long> take(LiveSession session, long before, Optional<Member> dead) {
        SessionKey key = session.key();
        long own = session.epoch().counter();
        return store.fence(key, dead.stream().map(Member::epoch))
                // a dead node may have something on the wire under any of its epochs
                .thenCompose(fenced -> store.fenceDead(key))
                .thenCompose(fenced -> store.look(key))
                .thenCompose(look -> {
                    look.ifPresent(kept -> session.catchUp().follow(kept.record()));
                    return token(session, before, own);
                })
                .thenApply(now -> {
                    if (now == own) {
                        session.catchUp().openBackend();
                    }
                    return now;
                });
    }

    /** The session is read here: the node that has its backend keeps it, or has yet to open it. */
    void read(LiveSession session) {
        if (!once) {
            return;
        }
        of(session).thenAccept(place -> {
            if (place instanceof There there) {
                store.bus().send(there.member().node(), new NodeMessage.Read(session.key()).pack());
            } else if (place instanceof Here) {
                session.catchUp().openBackend();
            }
        });
    }

    /** The session is read on another node, which takes this one for that which has the backend: it may have yet to open it. */
    void readElsewhere(LiveSession session) {
        if (once && session.catchUp().lacksBackend()) {
            of(session).thenAccept(place -> {
                if (place instanceof Here) {
                    session.catchUp().openBackend();
                }
            });
        }
    }
}
