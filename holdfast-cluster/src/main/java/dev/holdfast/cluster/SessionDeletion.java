package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore.Look;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Function;

/** How a session ends in a store that nodes share: who has joined it is fenced or told, and it counts no more for its principal. */
final class SessionDeletion {
    /** No epoch is this one: those of a session count from 1. */
    private static final Epoch NOBODYS = new Epoch(0, 0);

    private static final CompletionStage<Boolean> STAYS = CompletableFuture.completedFuture(false);

    private final SharedSessionStore store;
    private final Fences fences;
    private final PrincipalCounts counts;
    private final BiConsumer<SessionKey, List<Member>> deleted;

    /**
     * @param deleted hears of a session that was ended for every node, and which others have it
     */
    SessionDeletion(SharedSessionStore store, PrincipalCounts counts, BiConsumer<SessionKey, List<Member>> deleted) {
        this.store = store;
        this.fences = new Fences(store);
        this.counts = counts;
        this.deleted = deleted;
    }

    /** Ends a session for every node. */
    CompletionStage<Void> everywhere(SessionKey key, Optional<Membership> own) {
        CompletionStage<List<Member>> members = store.members(key).exceptionally(failure -> List.of());
        return members.thenCombine(
                        principal(key, own),
                        (all, who) -> store.delete(key)
                                .thenRun(() -> deleted.accept(
                                        key,
                                        all.stream()
                                                .filter(member -> own.filter(here -> here.node.equals(member.node()))
                                                        .isEmpty())
                                                .toList()))
                                .thenCompose(done -> counts.ended(key, who)))
                .thenCompose(Function.identity());
    }

    /** Completes with whose session it is; empty for nobody, and where that cannot be found out. */
    private CompletionStage<String> principal(SessionKey key, Optional<Membership> own) {
        return own.<CompletionStage<String>>map(here -> CompletableFuture.completedFuture(here.principal))
                .orElseGet(() -> store.look(key)
                        .thenApply(look ->
                                look.map(found -> found.record().principal()).orElse(""))
                        .exceptionally(failure -> ""));
    }

    /** Ends a session here, and for good if no other node has it, or will need what it has left behind. */
    CompletionStage<Boolean> unlessNeeded(SessionKey key, Epoch epoch, Optional<Membership> own) {
        long expiresAt = own.map(Membership::expiresAt).orElse(Long.MAX_VALUE);
        return store.look(key).thenCompose(look -> {
            boolean needed =
                    look.filter(found -> found.record().expiresAt() > expiresAt).isPresent();
            return needed ? STAYS : unlessPresent(key, epoch, own, look);
        });
    }

    private CompletionStage<Boolean> unlessPresent(
            SessionKey key, Epoch epoch, Optional<Membership> own, Optional<Look> kept) {
        return fences.all(
                        key, own.stream().flatMap(here -> here.epochs.stream()).filter(one -> !one.equals(epoch)))
                .thenCompose(fenced -> fenceDead(key))
                .thenCompose(fenced -> delete(key, epoch, kept));
    }

    /**
     * Ends a session that was not used here for so long, and for good if no other node ever had it. One that did may have used it
     * later and be gone: then the store lets it expire.
     */
    CompletionStage<Boolean> unlessShared(SessionKey key, Epoch epoch, Optional<Membership> own) {
        return store.look(key).thenCompose(look -> {
            boolean alone = look.flatMap(found -> own.filter(here -> here.isAlone(found.epoch())))
                    .isPresent();
            return alone || look.isEmpty()
                    ? unlessPresent(key, epoch, own, look)
                    : fenceDead(key).thenCompose(fenced -> STAYS);
        });
    }

    private CompletionStage<Boolean> delete(SessionKey key, Epoch epoch, Optional<Look> kept) {
        String principal = kept.map(found -> found.record().principal()).orElse("");
        return store.delete(key, epoch)
                .thenCompose(gone -> gone ? counts.ended(key, principal).thenApply(done -> true) : STAYS);
    }

    /** A session that was to be counted was not opened. */
    void notOpened(String principal, SessionKey key) {
        CompletionStage<Void> unused = counts.ended(key, principal);
    }

    /** Ends a session that waits for its client, and that no node has; completes with whether it has ended. */
    CompletionStage<Boolean> waiting(SessionKey key) {
        // a node has its lease before it joins: whoever is asked for it after that is not missed
        return store.members(key)
                .thenCompose(members -> store.bus()
                        .living()
                        .thenCompose(living -> members.stream().anyMatch(one -> living.contains(one.node()))
                                ? STAYS
                                : fences.all(key, members.stream().map(Member::epoch))
                                        .thenCompose(fenced -> store.look(key))
                                        .thenCompose(look -> look.isEmpty() ? STAYS : delete(key, NOBODYS, look))));
    }

    /** Fences those who have joined a session and are dead. */
    CompletionStage<Void> fenceDead(SessionKey key) {
        return store.members(key)
                .thenCompose(members -> members.size() < 2
                        ? CompletableFuture.completedFuture(null)
                        : store.bus()
                                .living()
                                .thenCompose(living -> fences.all(
                                        key,
                                        members.stream()
                                                .filter(one -> !living.contains(one.node()))
                                                .map(Member::epoch))));
    }
}
