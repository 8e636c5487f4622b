package dev.holdfast.cluster;

import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SharedSessionStore;
import dev.holdfast.spi.SharedSessionStore.Member;
import dev.holdfast.spi.SharedSessionStore.Part;
import dev.holdfast.spi.StreamId;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Where the backend of a session is that exists once. A token names the epoch that has it, at first the one that has opened the
 * session; whoever finds that dead gets the token by compare-and-set, and opens a fresh backend from the journal.
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

    private final NodeStore store;

    Placement(NodeStore store) {
        this.store = store;
    }

    private static CompletionStage<Place> is(Place place) {
        return CompletableFuture.completedFuture(place);
    }

    /** Finds it, and takes it over from a node that has died. */
    CompletionStage<Place> of(LiveSession session) {
        SessionKey key = session.key();
        return token(session, SharedSessionStore.NO_TOKEN, SharedSessionStore.NO_TOKEN)
                .thenCompose(token -> {
                    int counter = token == SharedSessionStore.NO_TOKEN ? OPENER : (int) (long) token;
                    Optional<Membership> own = store.membership(key);
                    if (own.filter(here -> here.has(counter)).isPresent()) {
                        return is(new Here());
                    }
                    return store.members(key).thenCompose(members -> {
                        Optional<Member> member = members.stream()
                                .filter(one -> one.epoch().counter() == counter)
                                .findFirst();
                        return elsewhere(member, own)
                                .thenCompose(there ->
                                        there ? is(new There(member.orElseThrow())) : takeOver(session, token, member));
                    });
                });
    }

    /** Whether another node has it, and lives. An epoch of this node that the session here does not have was left behind. */
    private CompletionStage<Boolean> elsewhere(Optional<Member> member, Optional<Membership> own) {
        return store.lives(member.filter(
                one -> own.filter(here -> here.node.equals(one.node())).isEmpty()));
    }

    private CompletionStage<Long> token(LiveSession session, long expected, long token) {
        return store.token(session.key(), session.shared().epoch(), StreamId.LISTENING, Part.BACKEND, expected, token);
    }

    private CompletionStage<Place> takeOver(LiveSession session, long before, Optional<Member> dead) {
        SessionKey key = session.key();
        long own = session.shared().epoch().counter();
        CompletionStage<Boolean> fenced =
                dead.isPresent() ? store.fence(key, dead.get().epoch()) : CompletableFuture.completedFuture(false);
        return fenced.thenCompose(done -> token(session, before, own))
                .thenCompose(now -> now == own ? open(session) : of(session));
    }

    /** The journal here may be older than what the backend that is gone had. */
    private CompletionStage<Place> open(LiveSession session) {
        return store.look(session.key())
                .thenCompose(look -> look.isEmpty()
                        ? is(new Here())
                        : session.shared().catchUp(look.get().record()).thenApply(done -> {
                            session.shared().openBackend();
                            return new Here();
                        }));
    }
}
