package dev.holdfast.rocksdb;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StreamId;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The header of one session, and the keys of everything else that the disk has of it: so an append writes without reading, and a
 * delete knows every key. The index is ahead of the disk by the changes that are not written yet; if one of them fails, it is
 * dropped and read again. Guarded by the lock of its session.
 */
final class SessionIndex {
    private final SessionKey key;
    private SessionHeader header;
    private final Map<String, Long> journal = new HashMap<>(4);
    private long nextPlace;
    private final Set<StreamId> running = new HashSet<>(4);
    private final Map<StreamId, KeptOffsets> kept = new HashMap<>(4);

    /** The session of the same key that was deleted before, while that may still be on its way. */
    private volatile Optional<SessionIndex> predecessor = Optional.empty();

    private volatile boolean broken;
    private int onTheirWay;
    private boolean beingRead;
    private boolean gone;
    private long usedAt;

    SessionIndex(SessionKey key, SessionHeader header) {
        this.key = key;
        this.header = header;
    }

    /** The index of a session that is not on disk yet. */
    static SessionIndex create(
            SessionKey key, Epoch first, SessionRecord record, OpeningHistory history, Database.Batch changes) {
        SessionIndex index = new SessionIndex(key, SessionHeader.of(first, record, history));
        changes.put(Keys.expiry(record.expiresAt(), key), new byte[0]);
        index.writeHeader(changes);
        record.journal().forEach((subject, message) -> index.note(subject, message, changes));
        record.running().forEach((stream, call) -> index.run(stream, call, changes));
        return index;
    }

    /** Takes the place of an index while that is read. */
    static SessionIndex beingRead(SessionKey key) {
        SessionIndex index = new SessionIndex(key, SessionHeader.NONE);
        index.beingRead = true;
        return index;
    }

    /** The index of a session that is removed without being read. */
    static SessionIndex removed(SessionKey key) {
        SessionIndex index = new SessionIndex(key, SessionHeader.NONE);
        index.gone = true;
        return index;
    }

    SessionKey key() {
        return key;
    }

    SessionHeader header() {
        return header;
    }

    /** This session has the same key as one that was deleted, whose deletion may not be written yet. */
    void follow(SessionIndex deleted) {
        predecessor = Optional.of(deleted);
    }

    /** Whether the disk may not have what this index, or the one it follows, says. Without the lock. */
    boolean broken() {
        return broken || predecessor.map(SessionIndex::broken).orElse(false);
    }

    /** A change did not reach the disk, or may not have reached it. */
    void breakUp() {
        broken = true;
    }

    /** A change is on its way through the writer's thread. */
    void depart() {
        onTheirWay++;
    }

    void arrive() {
        onTheirWay--;
    }

    /** Whether the next change must go through the writer too, so that it does not overtake these. */
    boolean waits() {
        return onTheirWay > 0 || predecessor.map(SessionIndex::waits).orElse(false);
    }

    boolean beingRead() {
        return beingRead;
    }

    boolean gone() {
        return gone;
    }

    boolean expired(long now) {
        return header.expiresAt() <= now;
    }

    void use(long now) {
        usedAt = now;
    }

    long usedAt() {
        return usedAt;
    }

    /** Adds what is on disk under one of the session's keys. */
    void found(byte[] at, byte[] value) {
        switch (Keys.what(at)) {
            case Keys.JOURNAL -> {
                journal.put(Values.JournalEntry.unpack(value).subject(), Keys.place(at));
                nextPlace = Keys.place(at) + 1;
            }
            case Keys.RUNNING -> running.add(Keys.stream(at));
            case Keys.TRIMMED -> offsets(Keys.stream(at)).wasTrimmed(Values.number(value));
            case Keys.EVENT -> offsets(Keys.stream(at)).add(Keys.offset(at));
            default -> {}
        }
    }

    /** Everything that is on disk was {@link #found}. */
    void whole() {
        kept.values().forEach(KeptOffsets::read);
    }

    private KeptOffsets offsets(StreamId stream) {
        return kept.computeIfAbsent(stream, id -> new KeptOffsets());
    }

    Map<StreamId, Extent> extents() {
        Map<StreamId, Extent> extents = new HashMap<>();
        kept.forEach((stream, offsets) -> extents.put(stream, new Extent(offsets.last(), offsets.trimmed())));
        return extents;
    }

    void claim(int nonce, OpeningHistory history, Database.Batch changes) {
        header = header.withNextEpoch(nonce, history);
        writeHeader(changes);
    }

    void append(Append append, Database.Batch changes) {
        for (Event event : append.events()) {
            offsets(event.stream()).add(event.offset());
            changes.put(Keys.event(key, event.stream(), event.offset()), Values.event(event));
        }
        Set<StreamId> shortened = new HashSet<>(4);
        for (Append.Trim trim : append.trims()) {
            KeptOffsets offsets = kept.get(trim.stream());
            if (offsets != null && offsets.trim(trim.offset())) {
                changes.delete(Keys.event(key, trim.stream(), trim.offset()));
                shortened.add(trim.stream());
            }
        }
        SessionHeader before = header;
        for (RecordChange change : append.changes()) {
            apply(change, shortened, changes);
        }
        if (!header.equals(before)) {
            writeHeader(changes);
        }
        for (StreamId stream : shortened) {
            mark(stream, changes);
        }
    }

    private void apply(RecordChange change, Set<StreamId> shortened, Database.Batch changes) {
        if (change instanceof RecordChange.CallStarted started) {
            run(started.stream(), new RunningCall(started.requests(), started.extension()), changes);
        } else if (change instanceof RecordChange.CallEnded ended) {
            if (running.remove(ended.stream())) {
                changes.delete(Keys.running(key, ended.stream()));
                shortened.add(ended.stream());
            }
        } else if (change instanceof RecordChange.Negotiated negotiated) {
            header = header.withRevision(negotiated.revision());
            note(SessionRecord.INITIALIZE, negotiated.initialize(), changes);
        } else if (change instanceof RecordChange.JournalPut put) {
            note(put.key(), put.message(), changes);
        } else if (change instanceof RecordChange.JournalRemoved removed) {
            Long place = journal.remove(removed.key());
            if (place != null) {
                changes.delete(Keys.journal(key, place));
            }
        } else if (change instanceof RecordChange.Expires expires) {
            changes.delete(Keys.expiry(header.expiresAt(), key));
            changes.put(Keys.expiry(expires.at(), key), new byte[0]);
            header = header.withExpiry(expires.at());
        } else if (change instanceof RecordChange.Extended extended) {
            header = header.withExtension(extended.extension());
        }
    }

    private void writeHeader(Database.Batch changes) {
        changes.put(Keys.header(key), header.pack());
    }

    private void note(String subject, byte[] message, Database.Batch changes) {
        long place = journal.computeIfAbsent(subject, fresh -> nextPlace++);
        changes.put(Keys.journal(key, place), new Values.JournalEntry(subject, message).pack());
    }

    private void run(StreamId stream, RunningCall call, Database.Batch changes) {
        running.add(stream);
        changes.put(Keys.running(key, stream), Values.call(call));
    }

    /** Forgets a stream that has neither events nor a running call, or writes how far another one was trimmed. */
    private void mark(StreamId stream, Database.Batch changes) {
        KeptOffsets offsets = kept.get(stream);
        if (offsets == null) {
            return;
        }
        boolean over = !stream.equals(StreamId.LISTENING) && !running.contains(stream);
        if (over && offsets.isEmpty()) {
            kept.remove(stream);
            if (offsets.marked()) {
                changes.delete(Keys.trimmed(key, stream));
            }
        } else if (offsets.trimmed() > 0) {
            offsets.mark();
            changes.put(Keys.trimmed(key, stream), Values.number(offsets.trimmed()));
        }
    }

    /**
     * Deletes every key of the session, one by one. A range delete would be shorter to write, but every later read looks at each one
     * until it is compacted away, and sessions end by the thousand with a handful of keys each.
     */
    void delete(Database.Batch changes) {
        gone = true;
        changes.delete(Keys.expiry(header.expiresAt(), key));
        changes.delete(Keys.header(key));
        journal.values().forEach(place -> changes.delete(Keys.journal(key, place)));
        running.forEach(stream -> changes.delete(Keys.running(key, stream)));
        kept.forEach((stream, offsets) -> {
            if (offsets.marked()) {
                changes.delete(Keys.trimmed(key, stream));
            }
            for (long offset : offsets.offsets()) {
                changes.delete(Keys.event(key, stream, offset));
            }
        });
    }

    /** The offsets of the events that the disk keeps of a stream, so that a trim needs no read. */
    private static final class KeptOffsets {
        private static final int FIRST_ROOM = 2;

        private long[] offsets = new long[FIRST_ROOM];
        private int size;
        private long last;
        private long trimmed;
        /** Whether {@link #trimmed} is on disk. */
        private boolean marked;

        void add(long offset) {
            int at = Arrays.binarySearch(offsets, 0, size, offset);
            if (at >= 0) {
                return;
            }
            if (size == offsets.length) {
                offsets = Arrays.copyOf(offsets, 2 * size);
            }
            int place = -at - 1;
            System.arraycopy(offsets, place, offsets, place + 1, size - place);
            offsets[place] = offset;
            size++;
            last = Math.max(last, offset);
        }

        /** Whether there was such an event. */
        boolean trim(long offset) {
            int at = Arrays.binarySearch(offsets, 0, size, offset);
            if (at < 0) {
                return false;
            }
            System.arraycopy(offsets, at + 1, offsets, at, size - at - 1);
            size--;
            trimmed = Math.max(trimmed, offset);
            return true;
        }

        /** The disk says that everything up to this offset was trimmed. */
        void wasTrimmed(long offset) {
            trimmed = offset;
            last = Math.max(last, offset);
            marked = true;
        }

        /** All is read that the disk has: above the highest offset that was trimmed nothing is missing, unless it was lost. */
        void read() {
            for (int at = size - 1; at >= 0 && offsets[at] > trimmed; at--) {
                long before = at == 0 ? trimmed : Math.max(trimmed, offsets[at - 1]);
                if (offsets[at] > before + 1) {
                    trimmed = offsets[at] - 1;
                    return;
                }
            }
        }

        void mark() {
            marked = true;
        }

        boolean marked() {
            return marked;
        }

        boolean isEmpty() {
            return size == 0;
        }

        long last() {
            return last;
        }

        long trimmed() {
            return trimmed;
        }

        long[] offsets() {
            return Arrays.copyOf(offsets, size);
        }
    }
}
