package dev.holdfast.rocksdb;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.UnreadableSessionException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Removes sessions and their entries in the list of expiries: key by key, or as a range if a session cannot be read. */
final class SessionRemoval {
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);
    private static final CompletionStage<Boolean> GONE = CompletableFuture.completedFuture(true);
    private static final CompletionStage<Boolean> STAYS = CompletableFuture.completedFuture(false);

    private final DiskSessions sessions;

    SessionRemoval(DiskSessions sessions) {
        this.sessions = sessions;
    }

    /** Removes a session, also one that cannot be read. */
    CompletionStage<Void> remove(SessionKey key) {
        CompletionStage<Void> removed =
                sessions.with(key, found -> found.map(this::remove).orElse(DONE));
        return removed.handle((done, failure) ->
                        isUnreadable(failure) ? sessions.onReader(key, () -> removeUnread(key, List.of())) : removed)
                .thenCompose(Function.identity());
    }

    /** Removes a session if it is still owned under this epoch; false if it is not. */
    CompletionStage<Boolean> remove(SessionKey key, Epoch epoch) {
        return sessions.with(key, found -> {
            if (found.isEmpty()) {
                return GONE;
            }
            boolean owned = found.get().header().epoch().equals(epoch);
            return owned ? remove(found.get()).thenApply(done -> true) : STAYS;
        });
    }

    /** Removes a session of which every key is known; under its lock. */
    CompletionStage<Void> remove(SessionIndex index) {
        Changes changes = new Changes();
        index.delete(changes);
        return sessions.commit(index, changes);
    }

    private static boolean isUnreadable(@Nullable Throwable failure) {
        return failure instanceof UnreadableSessionException
                || (failure instanceof CompletionException && failure.getCause() instanceof UnreadableSessionException);
    }

    /**
     * Removes all keys of a session without reading them; on the reader's thread.
     *
     * @param expiries keys in the list of expiries that name this session
     */
    CompletionStage<Void> removeUnread(SessionKey key, List<byte[]> expiries) {
        Changes changes = new Changes();
        header(key).ifPresent(header -> changes.delete(Keys.expiry(header.expiresAt(), key)));
        expiries.forEach(changes::delete);
        return sessions.unread(key, used -> removeRange(key, used, changes));
    }

    private Optional<Header> header(SessionKey key) {
        try {
            return sessions.database().reading(() -> sessions.disk().header(key));
        } catch (UnreadableSessionException e) {
            // the sweeper removes its entry in the list of expiries when its time has come
            return Optional.empty();
        }
    }

    private CompletionStage<Void> removeRange(SessionKey key, Optional<SessionIndex> used, Changes changes) {
        changes.deleteRange(Keys.header(key), Keys.end(key));
        SessionIndex removed = SessionIndex.removed(key);
        used.filter(SessionIndex::waits).ifPresent(removed::follow);
        sessions.add(removed);
        return sessions.commit(removed, changes);
    }

    /** Removes an entry in the list of expiries whose session has another expiry or is gone; under the session's lock. */
    CompletionStage<Void> removeExpiry(byte[] expiry) {
        Changes changes = new Changes();
        changes.delete(expiry);
        return sessions.commit(SessionIndex.removed(Keys.session(expiry)), changes);
    }
}
