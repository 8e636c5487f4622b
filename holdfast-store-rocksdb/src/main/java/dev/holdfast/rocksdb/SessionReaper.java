package dev.holdfast.rocksdb;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.UnreadableSessionException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes sessions and their entries in the list of expiries: key by key, or as a range if a session cannot be read.
 *
 * <p>At an interval it removes those that have expired, and drops indexes that nobody uses. It goes through the list of expiries, so
 * that it also finds sessions that were not used since the start; a few at a time, for claims use the same thread.
 */
final class SessionReaper {
    private static final Logger logger = LoggerFactory.getLogger(SessionReaper.class);
    private static final int AT_A_TIME = 200;
    private static final long UNUSED_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final CompletionStage<Boolean> GONE = CompletableFuture.completedFuture(true);
    private static final CompletionStage<Boolean> STAYS = CompletableFuture.completedFuture(false);

    private final DiskSessions sessions;
    private final ReopeningDatabase database;

    SessionReaper(DiskSessions sessions) {
        this.sessions = sessions;
        this.database = sessions.database();
    }

    /** Sweeps at an interval, on the thread that reads. */
    void start(Duration interval) {
        sessions.every(interval, this::sweep);
    }

    /** Removes a session, also one that cannot be read. */
    CompletionStage<Void> remove(SessionKey key) {
        CompletionStage<Void> removed =
                sessions.with(key, found -> found.map(this::remove).orElse(DiskSessions.DONE));
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
        Database.Batch changes = new Database.Batch();
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
        Database.Batch changes = new Database.Batch();
        header(key).ifPresent(header -> changes.delete(Keys.expiry(header.expiresAt(), key)));
        expiries.forEach(changes::delete);
        return sessions.unread(key, used -> removeRange(key, used, changes));
    }

    private Optional<SessionHeader> header(SessionKey key) {
        try {
            return database.header(key);
        } catch (UnreadableSessionException e) {
            // the sweeper removes its entry in the list of expiries when its time has come
            return Optional.empty();
        }
    }

    private CompletionStage<Void> removeRange(SessionKey key, Optional<SessionIndex> used, Database.Batch changes) {
        changes.deleteRange(Keys.header(key), Keys.end(key));
        SessionIndex removed = SessionIndex.removed(key);
        used.filter(SessionIndex::waits).ifPresent(removed::follow);
        sessions.add(removed);
        return sessions.commit(removed, changes);
    }

    /** Removes an entry in the list of expiries whose session has another expiry or is gone; under the session's lock. */
    CompletionStage<Void> removeExpiry(byte[] expiry) {
        Database.Batch changes = new Database.Batch();
        changes.delete(expiry);
        return sessions.commit(SessionIndex.removed(Keys.session(expiry)), changes);
    }

    /** Whatever fails, the next sweep has to come: the scheduler does not repeat what threw once. */
    private void sweep() {
        try {
            database.look();
            forgetUnused(System.nanoTime());
            expire(Keys.expiriesFrom(0));
        } catch (Throwable e) {
            logger.error("expired sessions could not be looked for; the next sweep tries again", e);
        }
    }

    private void forgetUnused(long now) {
        sessions.inUse().forEach((key, index) -> {
            Lock lock = database.lockOf(key);
            lock.lock();
            try {
                if (!index.waits() && now - index.usedAt() > UNUSED_NANOS) {
                    sessions.inUse().remove(key, index);
                }
            } finally {
                lock.unlock();
            }
        });
    }

    /** Deletes those that have expired, from one place in the list of expiries on. */
    private void expire(byte[] from) {
        if (database.trouble().isPresent()) {
            return;
        }
        try {
            List<byte[]> due = database.due(from, sessions.millis(), AT_A_TIME);
            due.forEach(this::expireOne);
            if (due.size() == AT_A_TIME) {
                byte[] next = Database.after(due.get(due.size() - 1));
                sessions.soon(() -> expire(next));
            }
        } catch (UnreadableSessionException e) {
            database.damaged(e);
        } catch (RejectedExecutionException e) {
            logger.debug("the store closes; the other expired sessions are removed when it is open again");
        } catch (RuntimeException e) {
            logger.warn("expired sessions could not be removed; the next sweep tries again", e);
        }
    }

    private void expireOne(byte[] expiry) {
        try {
            database.reading(() -> expire(Keys.session(expiry), expiry)).whenComplete((done, failure) -> {
                if (failure != null) {
                    logger.debug("an expired session stays for now: {}", failure.toString());
                }
            });
        } catch (RocksDbStoreException e) {
            // the failed read was logged; the other sessions are removed all the same
            logger.debug("an expired session stays, since it cannot be read: {}", e.toString());
        }
    }

    private CompletionStage<Void> expire(SessionKey key, byte[] expiry) {
        try {
            return sessions.loaded(key, index -> expire(expiry, index));
        } catch (UnreadableSessionException e) {
            return removeUnread(key, List.of(expiry));
        }
    }

    private CompletionStage<Void> expire(byte[] expiry, Optional<SessionIndex> index) {
        if (index.filter(SessionIndex::gone).isPresent()) {
            return DiskSessions.DONE;
        }
        if (index.isEmpty() || index.get().header().expiresAt() != Keys.expiresAt(expiry)) {
            return removeExpiry(expiry);
        }
        return index.get().expired(sessions.millis()) ? remove(index.get()) : DiskSessions.DONE;
    }
}
