package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Counted;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Lets a session count among those of its principal for as long as its record is kept, and no longer. What the store does not hear is
 * made good when the record is renewed the next time, or when its time has passed.
 */
record PrincipalCounts(SharedSessionStore store) {
    /** A record has changed: where it is kept for longer, the session counts for longer. */
    void changed(SessionKey key, Membership membership, List<RecordChange> changes) {
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

    /** A session has ended; completes when the store knows, or has failed. */
    CompletionStage<Void> ended(SessionKey key, String principal) {
        return principal.isEmpty()
                ? CompletableFuture.completedFuture(null)
                : StoreQuestion.asked(() -> store.uncount(principal, key)).exceptionally(failure -> null);
    }
}
