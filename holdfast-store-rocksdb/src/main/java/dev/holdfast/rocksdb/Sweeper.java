package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.UnreadableSessionException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives back the space of expired sessions, and the memory of shelves that nobody uses. It goes through the index of expiries,
 * so that it meets sessions too that nobody has opened since the start; a few at a time, for claims use the same thread.
 */
final class Sweeper {
    private static final Logger logger = LoggerFactory.getLogger(Sweeper.class);
    private static final int AT_A_TIME = 200;
    private static final long UNUSED_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final Library library;
    private final Vault vault;
    private final ScheduledExecutorService reader;

    Sweeper(Library library, Vault vault, ScheduledExecutorService reader) {
        this.library = library;
        this.vault = vault;
        this.reader = reader;
    }

    void start(Duration interval) {
        long nanos = interval.toNanos();
        Future<?> unused = reader.scheduleWithFixedDelay(this::sweep, nanos, nanos, TimeUnit.NANOSECONDS);
    }

    private void sweep() {
        forgetUnused(System.nanoTime());
        expire(Keys.expiriesFrom(0));
    }

    private void forgetUnused(long now) {
        library.shelves().forEach((key, shelf) -> {
            Lock lock = vault.lockOf(key);
            lock.lock();
            try {
                if (!shelf.waits() && now - shelf.usedAt() > UNUSED_NANOS) {
                    library.shelves().remove(key, shelf);
                }
            } finally {
                lock.unlock();
            }
        });
    }

    /** Deletes those that have expired, from one place of the index on. */
    private void expire(byte[] from) {
        if (vault.trouble().isPresent()) {
            return;
        }
        try {
            List<byte[]> due = due(from);
            due.forEach(this::expireOne);
            if (due.size() == AT_A_TIME) {
                byte[] next = Database.after(due.get(due.size() - 1));
                reader.execute(() -> expire(next));
            }
        } catch (UnreadableSessionException e) {
            vault.damaged(e);
        } catch (RejectedExecutionException e) {
            logger.debug("the store closes; the rest expires when it is open again");
        } catch (RuntimeException e) {
            logger.warn("expired sessions could not be cleaned away", e);
        }
    }

    private List<byte[]> due(byte[] from) {
        Lock open = vault.anyLock();
        open.lock();
        try {
            return library.disk().due(from, library.millis(), AT_A_TIME);
        } finally {
            open.unlock();
        }
    }

    private void expireOne(byte[] expiry) {
        SessionKey key = Keys.session(expiry);
        Lock lock = vault.lockOf(key);
        lock.lock();
        try {
            Optional<Shelf> shelf = library.find(key);
            if (shelf.filter(Shelf::gone).isPresent()) {
                return;
            }
            if (shelf.isEmpty() || shelf.get().header().expiresAt() != Keys.expiresAt(expiry)) {
                told(library.removeExpiry(expiry));
            } else if (shelf.get().expired(library.millis())) {
                told(library.delete(shelf.get()));
            }
        } catch (UnreadableSessionException e) {
            told(library.remove(key, List.of(expiry)));
        } catch (RocksDbStoreException e) {
            // it was told where it was read, and must not keep the others
            logger.debug("an expired session stays, since it cannot be read: {}", e.toString());
        } finally {
            lock.unlock();
        }
    }

    private static void told(CompletionStage<Void> removal) {
        removal.whenComplete((done, failure) -> {
            if (failure != null) {
                logger.debug("an expired session stays for now: {}", failure.toString());
            }
        });
    }
}
