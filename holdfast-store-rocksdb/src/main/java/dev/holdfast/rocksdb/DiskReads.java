package dev.holdfast.rocksdb;

import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.UnreadableSessionException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiPredicate;
import org.rocksdb.RocksDBException;

/**
 * Reads what is on disk of a session, while the database is kept open. What RocksDB calls corrupt, and what is not as it was
 * written, will never be read: an {@link UnreadableSessionException}. Any other failure may pass: a {@link RocksDbStoreException}.
 */
final class DiskReads {
    private final ReopeningDatabase database;

    DiskReads(ReopeningDatabase database) {
        this.database = database;
    }

    /** Whether there may be such a session, though it may have expired; reads nothing from the disk. */
    boolean mayHave(SessionKey key) {
        return database.current().mayHave(Keys.header(key));
    }

    Optional<Header> header(SessionKey key) {
        return reading(() -> database.current().get(Keys.header(key)).map(Header::unpack));
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
        AtomicReference<Header> header = new AtomicReference<>();
        Map<String, byte[]> journal = new LinkedHashMap<>();
        Map<StreamId, RunningCall> running = new HashMap<>();
        scan(Keys.header(key), Keys.trimmed(key, StreamId.LISTENING), (at, value) -> {
            switch (Keys.what(at)) {
                case Keys.HEADER -> header.set(Header.unpack(value));
                case Keys.JOURNAL -> {
                    Codec.JournalEntry noted = Codec.JournalEntry.unpack(value);
                    journal.put(noted.subject(), noted.message());
                }
                default -> running.put(Keys.stream(at), Codec.call(value));
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
            Event event = Codec.event(at, value);
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

    private void scan(byte[] from, byte[] to, BiPredicate<byte[], byte[]> visitor) {
        reading(() -> {
            database.current().scan(from, to, visitor);
            return to;
        });
    }

    private interface Reading<T> {
        T read() throws RocksDBException;
    }

    private <T> T reading(Reading<T> what) {
        try {
            return what.read();
        } catch (RocksDbStoreException e) {
            throw e;
        } catch (RocksDBException e) {
            throw Database.isCorrupt(e) ? database.unreadable(e) : database.cannotRead(e);
        } catch (RuntimeException e) {
            throw database.unreadable(e);
        }
    }
}
