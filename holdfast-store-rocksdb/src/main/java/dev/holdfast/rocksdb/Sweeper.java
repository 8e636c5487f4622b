package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.UnreadableSessionException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives back the space of expired sessions, and the memory of indexes that nobody uses. It goes through the list of expiries,
 * so that it also finds sessions that were not used since the start; a few at a time, for claims use the same thread.
 */
final class Sweeper {
    private static final Logger logger = LoggerFactory.getLogger(Sweeper.class);
    private static final int AT_A_TIME = 200;
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);
    private static final long UNUSED_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final DiskSessions sessions;
    private final SessionRemoval removal;
    private final ReopeningDatabase database;
    private final Duration interval;

    Sweeper(DiskSessions sessions, SessionRemoval removal, Duration interval) {
        this.sessions = sessions;
        this.removal = removal;
        this.database = sessions.database();
        this.interval = interval;
    }

    /** Sweeps at an interval, on the thread that reads. */
    void start(ReaderThread reader) {
        reader.every(interval, () -> sweep(reader));
    }

    /** Whatever fails, the next sweep has to come: the scheduler does not repeat what threw once. */
    private void sweep(ReaderThread reader) {
        try {
            database.look();
            forgetUnused(System.nanoTime());
            expire(Keys.expiriesFrom(0), reader);
        } catch (Throwable e) {
            logger.error("the session store could not be swept", e);
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
    private void expire(byte[] from, ReaderThread reader) {
        if (database.trouble().isPresent()) {
            return;
        }
        try {
            List<byte[]> due = database.reading(() -> sessions.disk().due(from, sessions.millis(), AT_A_TIME));
            due.forEach(this::expireOne);
            if (due.size() == AT_A_TIME) {
                byte[] next = Database.after(due.get(due.size() - 1));
                reader.run(() -> expire(next, reader));
            }
        } catch (UnreadableSessionException e) {
            database.damaged(e);
        } catch (RejectedExecutionException e) {
            logger.debug("the store closes; the rest expires when it is open again");
        } catch (RuntimeException e) {
            logger.warn("expired sessions could not be removed", e);
        }
    }

    private void expireOne(byte[] expiry) {
        try {
            told(database.reading(() -> expire(Keys.session(expiry), expiry)));
        } catch (RocksDbStoreException e) {
            // the failed read was logged; the other sessions are removed all the same
            logger.debug("an expired session stays, since it cannot be read: {}", e.toString());
        }
    }

    private CompletionStage<Void> expire(SessionKey key, byte[] expiry) {
        try {
            return sessions.loaded(key, index -> expire(expiry, index));
        } catch (UnreadableSessionException e) {
            return removal.removeUnread(key, List.of(expiry));
        }
    }

    private CompletionStage<Void> expire(byte[] expiry, Optional<SessionIndex> index) {
        if (index.filter(SessionIndex::gone).isPresent()) {
            return DONE;
        }
        if (index.isEmpty() || index.get().header().expiresAt() != Keys.expiresAt(expiry)) {
            return removal.removeExpiry(expiry);
        }
        return index.get().expired(sessions.millis()) ? removal.remove(index.get()) : DONE;
    }

    private static void told(CompletionStage<Void> removal) {
        removal.whenComplete((done, failure) -> {
            if (failure != null) {
                logger.debug("an expired session stays for now: {}", failure.toString());
            }
        });
    }
}
