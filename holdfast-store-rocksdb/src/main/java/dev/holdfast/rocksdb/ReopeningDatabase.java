package dev.holdfast.rocksdb;

import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.UnreadableSessionException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiPredicate;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.rocksdb.RocksDBException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The open database, and the locks that keep it open: whoever holds the lock of any session may use it, and whoever reads holds
 * one that no session waits for. Closing it, or opening it again, takes all of them. The writer's thread needs none, for it alone
 * opens the database again, and ends before its close.
 *
 * <p>RocksDB refuses every write after one that failed. Once the folder can be written again the database is opened again, which
 * reads the log as far as it goes: that is as far as anything was acknowledged, or a little further.
 */
final class ReopeningDatabase {
    private static final Logger logger = LoggerFactory.getLogger(ReopeningDatabase.class);
    private static final String LOST_BEFORE = "could not write what this follows";
    private static final int STRIPES = 256;
    /** How long a failed read is reported by {@link #unread}. */
    private static final long UNREAD_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final StoreFolder folder;
    private final DatabaseOpening opening;
    private final Runnable forget;
    private final ReentrantLock[] stripes =
            Stream.generate(ReentrantLock::new).limit(STRIPES).toArray(ReentrantLock[]::new);
    /** Held while something is read; taken before the lock of a session, never after it. Fair, for there may be much to read. */
    private final ReentrantLock reads = new ReentrantLock(true);

    private volatile Optional<Database> database;
    private volatile Optional<Throwable> trouble = Optional.empty();
    private volatile Optional<Unread> unread = Optional.empty();
    private final AtomicBoolean goneTold = new AtomicBoolean();
    private final Backoff backoff = new Backoff(System::nanoTime);

    private record Unread(RocksDbStoreException failure, long at) {}

    /** How long something that failed is left alone: 250 ms, and twice as long after each further failure, up to 10 s. For one thread. */
    static final class Backoff {
        private static final long LEAST_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
        private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(10);

        private final LongSupplier clock;
        private long pause = LEAST_NANOS;
        private long notBefore;

        /** A first attempt need not wait. */
        Backoff(LongSupplier clock) {
            this.clock = clock;
            this.notBefore = clock.getAsLong();
        }

        /** Whether it is too early for an attempt. */
        boolean waits() {
            return clock.getAsLong() - notBefore < 0;
        }

        /** An attempt has ended now. */
        void attempted(boolean successful) {
            notBefore = clock.getAsLong() + (successful ? 0 : pause);
            pause = successful ? LEAST_NANOS : Math.min(2 * pause, MOST_NANOS);
        }
    }

    /**
     * Opens the database.
     *
     * @param forget called under all locks when the disk may have less or more of the sessions in use than is known of them
     */
    ReopeningDatabase(StoreFolder folder, long memoryBytes, boolean sync, Runnable forget) {
        this.folder = folder;
        this.forget = forget;
        this.opening = new DatabaseOpening(folder, memoryBytes, sync);
        try {
            Database.loadLibrary();
            database = Optional.of(opening.open());
        } catch (RocksDBException e) {
            String what = Database.isCorrupt(e) ? "is damaged (move it away to begin anew)" : "cannot be opened";
            throw new RocksDbStoreException(folder.path(), what, e);
        } catch (IOException | UnsatisfiedLinkError e) {
            throw RocksDbStoreException.withoutLibrary(folder.path(), e);
        }
    }

    /** The short lock of a session, which some others share. */
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

    /** Whether there may be such a session, though it may have expired; reads nothing from the disk. */
    boolean mayHave(SessionKey key) {
        return current().mayHave(Keys.header(key));
    }

    Optional<SessionHeader> header(SessionKey key) {
        return read(() -> current().get(Keys.header(key)).map(SessionHeader::unpack));
    }

    Optional<SessionIndex> index(SessionKey key) {
        Optional<SessionIndex> index = header(key).map(header -> new SessionIndex(key, header));
        if (index.isPresent()) {
            scan(Keys.journal(key, 0), Keys.end(key), (at, value) -> {
                index.get().found(at, value);
                return true;
            });
            index.get().whole();
        }
        return index;
    }

    /** The record of a session, all of it of one moment; empty where it is not there. */
    Optional<SessionRecord> record(SessionKey key) {
        AtomicReference<SessionHeader> header = new AtomicReference<>();
        Map<String, byte[]> journal = new LinkedHashMap<>();
        Map<StreamId, RunningCall> running = new HashMap<>();
        scan(Keys.header(key), Keys.trimmed(key, StreamId.LISTENING), (at, value) -> {
            switch (Keys.what(at)) {
                case Keys.HEADER -> header.set(SessionHeader.unpack(value));
                case Keys.JOURNAL -> {
                    Values.JournalEntry noted = Values.JournalEntry.unpack(value);
                    journal.put(noted.subject(), noted.message());
                }
                default -> running.put(Keys.stream(at), Values.call(value));
            }
            return true;
        });
        return Optional.ofNullable(header.get()).map(found -> found.record(journal, running));
    }

    /** The events of a stream after an offset, at least one if there is one, and no more than fit beyond that. */
    List<Event> events(SessionKey key, StreamId stream, long after, int maxBytes) {
        List<Event> events = new ArrayList<>();
        if (after == Long.MAX_VALUE) {
            return events;
        }
        long[] room = {maxBytes};
        byte[] end = Database.after(Keys.event(key, stream, Long.MAX_VALUE));
        scan(Keys.event(key, stream, after + 1), end, (at, value) -> {
            Event event = Values.event(at, value);
            room[0] -= event.bytes().length;
            boolean fits = events.isEmpty() || room[0] >= 0;
            if (fits) {
                events.add(event);
            }
            return fits;
        });
        return events;
    }

    /** The keys of the list of expiries that have expired, from one place on. */
    List<byte[]> due(byte[] from, long now, int most) {
        List<byte[]> due = new ArrayList<>();
        scan(from, Keys.expiriesFrom(now + 1), (expiry, nothing) -> {
            due.add(expiry);
            return due.size() < most;
        });
        return due;
    }

    private interface Reading<T> {
        T read() throws RocksDBException;
    }

    private void scan(byte[] from, byte[] to, BiPredicate<byte[], byte[]> visitor) {
        read(() -> {
            current().scan(from, to, visitor);
            return to;
        });
    }

    /**
     * What RocksDB calls corrupt, and what does not decode, can never be read: an {@link UnreadableSessionException}. Any other failure
     * may pass: a {@link RocksDbStoreException}.
     */
    private <T> T read(Reading<T> what) {
        reads.lock();
        try {
            return what.read();
        } catch (RocksDbStoreException e) {
            throw e;
        } catch (RocksDBException e) {
            throw Database.isCorrupt(e) ? unreadable(e) : cannotRead(e);
        } catch (RuntimeException e) {
            throw unreadable(e);
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

    /** A write has failed: none is tried until the database was opened again. */
    void failed(Throwable cause) {
        if (trouble.isEmpty()) {
            trouble = Optional.of(cause);
            logger.error("the session store in {} cannot write", folder.path(), cause);
        }
    }

    /**
     * Looks whether the folder is still the one that was opened. If it is not, no write is tried any more: nobody would find what was
     * written, and what is in its place may be another process's.
     */
    void look() {
        if (!folder.gone()) {
            return;
        }
        trouble = Optional.of(new IOException("its folder was removed or replaced while it was open"));
        if (goneTold.compareAndSet(false, true)) {
            logger.error(
                    "the session store in {} was removed or replaced while it was open: nothing is written any more. Restart"
                            + " the process",
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

    /** The list of expiries cannot be read, so the database has to be copied into a new one. */
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

    /** Opens the database again, or what can be read of it, if the folder can be written; on the writer's thread. */
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
            // the folder may have been found gone meanwhile, and that lasts
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
            logger.warn(
                    "the session store in {} closes before all of it is on disk; the next opening may find a gap",
                    folder.path(),
                    e);
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
