package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.UnreadableSessionException;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.rocksdb.RocksDBException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The open database, and the locks that keep it open: whoever holds the lock of any session may use it, and whoever reads holds
 * one that no session waits for. To close it, or to open it anew, takes all of them; the writer's thread uses it without, for it
 * alone opens it anew, and ends before its close.
 *
 * <p>RocksDB refuses every write after one that failed. Once the folder can be written again it is opened anew, which reads the
 * log as far as it goes, and that is as far as anything was acknowledged, or a little further.
 */
final class ReopeningDatabase {
    private static final Logger logger = LoggerFactory.getLogger(ReopeningDatabase.class);
    private static final String LOST_BEFORE = "could not write what this follows";
    private static final int STRIPES = 256;
    /** How long a failed read is reported. */
    private static final long UNREAD_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final StoreFolder folder;
    private final DatabaseOpening opening;
    private final Runnable forget;
    private final ReentrantLock[] stripes =
            Stream.generate(ReentrantLock::new).limit(STRIPES).toArray(ReentrantLock[]::new);
    /** Held while something is read; taken before the lock of a session, never behind it. In turn, for there may be much to read. */
    private final ReentrantLock reads = new ReentrantLock(true);

    private volatile Optional<Database> database;
    private volatile Optional<Throwable> trouble = Optional.empty();
    private volatile Optional<Unread> unread = Optional.empty();
    private final AtomicBoolean goneTold = new AtomicBoolean();
    private final Backoff backoff = new Backoff(System::nanoTime);

    private record Unread(RocksDbStoreException failure, long at) {}

    /**
     * Opens the database.
     *
     * @param forget called when less or more may be there of sessions in use than is known of them, under the locks of all
     */
    ReopeningDatabase(StoreFolder folder, long memoryBytes, boolean sync, Runnable forget) {
        this.folder = folder;
        this.forget = forget;
        this.opening = new DatabaseOpening(folder, memoryBytes, sync);
        try {
            NativeLibrary.load();
            database = Optional.of(opening.open());
        } catch (RocksDBException e) {
            String what = Database.isCorrupt(e) ? "is damaged (move it away to begin anew)" : "cannot be opened";
            throw new RocksDbStoreException(folder.path(), what, e);
        } catch (IOException | UnsatisfiedLinkError e) {
            throw RocksDbStoreException.withoutLibrary(folder.path(), e);
        }
    }

    /** The short lock of a session; it shares it with some others. */
    ReentrantLock lockOf(SessionKey key) {
        return stripes[(int) key.a() & (STRIPES - 1)];
    }

    /** Reads while the database stays open; the caller holds no session's lock. */
    <T> T reading(Supplier<T> read) {
        reads.lock();
        try {
            return read.get();
        } finally {
            reads.unlock();
        }
    }

    /** The database that is open now; throws if it is closed. */
    Database current() {
        return database.orElseThrow(this::cannotWrite);
    }

    Optional<Throwable> trouble() {
        return trouble;
    }

    /** A write has failed: none is tried until the database was opened anew. */
    void failed(Throwable cause) {
        if (trouble.isEmpty()) {
            trouble = Optional.of(cause);
            logger.error("the session store in {} cannot write", folder.path(), cause);
        }
    }

    /**
     * Looks whether the folder is still the one that was opened. Where it is not, no write is tried any more: nobody would find what was
     * written, and what is in its place may be another process's.
     */
    void look() {
        if (!folder.gone()) {
            return;
        }
        trouble = Optional.of(new IOException("its folder was removed or replaced while it was open"));
        if (goneTold.compareAndSet(false, true)) {
            logger.error(
                    "the session store in {} was removed or replaced while it was open: nothing is written any more, until a"
                            + " restart",
                    folder.path());
        }
    }

    RocksDbStoreException cannotWrite() {
        return trouble.map(cause -> new RocksDbStoreException(folder.path(), "cannot write", cause))
                .orElseGet(
                        () -> database.isPresent() ? new RocksDbStoreException(folder.path(), LOST_BEFORE) : closed());
    }

    RocksDbStoreException closed() {
        return new RocksDbStoreException(folder.path(), "is closed");
    }

    RocksDbStoreException cannotRead(Exception cause) {
        if (unread().isEmpty()) {
            logger.error("the session store in {} cannot read", folder.path(), cause);
        }
        RocksDbStoreException failure = new RocksDbStoreException(folder.path(), "cannot read", cause);
        unread = Optional.of(new Unread(failure, System.nanoTime()));
        return failure;
    }

    /** A kept value cannot be read, now or later. */
    UnreadableSessionException unreadable(Exception cause) {
        RocksDbStoreException failure = cannotRead(cause);
        return new UnreadableSessionException(String.valueOf(failure.getMessage()), failure);
    }

    /** The list of expiries cannot be read, so the database must be copied into a new one. */
    void damaged(UnreadableSessionException failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof RocksDBException) {
                failed(cause);
            }
        }
    }

    /** Why something could not be read, if that was a short while ago. */
    Optional<RocksDbStoreException> unread() {
        return unread.filter(last -> System.nanoTime() - last.at < UNREAD_NANOS).map(Unread::failure);
    }

    /** Opens the database anew if there is hope, or what can be read of it; on the writer's thread. */
    void recover() {
        look();
        if (backoff.waits() || folder.gone() || !folder.writable()) {
            return;
        }
        try {
            exclusively(this::reopen);
        } finally {
            backoff.attempted(trouble.isEmpty());
        }
    }

    private void reopen() {
        Throwable cause = trouble.orElse(null);
        database.ifPresent(Database::close);
        database = Optional.empty();
        try {
            if (cause instanceof RocksDBException damage && Database.isCorrupt(damage)) {
                database = Optional.of(opening.salvage(damage));
            } else {
                database = Optional.of(opening.open());
            }
            forget.run();
            trouble = Optional.empty();
            logger.info("the session store in {} writes again", folder.path());
            // it may have been found gone meanwhile, and that lasts
            look();
        } catch (RocksDBException e) {
            trouble = Optional.of(e);
        }
    }

    /** Closes the database and gives the folder back. */
    void close() {
        exclusively(() -> {
            if (database.isPresent() && synced(database.get()) && !folder.gone()) {
                folder.endsInOrder();
            }
            database.ifPresent(Database::close);
            database = Optional.empty();
        });
        folder.close();
    }

    private boolean synced(Database last) {
        try {
            last.sync();
            return true;
        } catch (RocksDBException e) {
            logger.warn("the session store in {} closes before all of it is on disk", folder.path(), e);
            return false;
        }
    }

    /** Runs while no other thread uses the database; the caller holds no lock. */
    void exclusively(Runnable action) {
        reads.lock();
        for (ReentrantLock stripe : stripes) {
            stripe.lock();
        }
        try {
            action.run();
        } finally {
            IntStream.range(0, STRIPES).forEach(i -> stripes[i].unlock());
            reads.unlock();
        }
    }
}
