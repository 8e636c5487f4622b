package dev.holdfast.cluster;

import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SharedSessionStore;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/**
 * Lets a session count among those of its principal for as long as its record is kept, and no longer. Nobody waits for that: what the
 * store does not hear is made good when the record is renewed the next time, or when its time has passed.
 */
record PrincipalCounts(SharedSessionStore store) {
    /** A record has changed: where it is kept for longer, the session counts for longer. */
    void changed(SessionKey key, Membership membership, List<RecordChange> changes) {
        if (membership.principal.isEmpty()) {
            return;
        }
        for (RecordChange change : changes) {
            if (change instanceof RecordChange.Expires expires) {
                quietly(() -> store.count(membership.principal, key, expires.at(), Integer.MAX_VALUE));
            }
        }
    }

    /** A session has ended. */
    void ended(SessionKey key, String principal) {
        if (!principal.isEmpty()) {
            quietly(() -> store.uncount(principal, key));
        }
    }

    private static void quietly(Supplier<CompletionStage<?>> action) {
        try {
            CompletionStage<?> unused = action.get();
        } catch (Throwable e) {
            // the store is away
        }
    }
}
