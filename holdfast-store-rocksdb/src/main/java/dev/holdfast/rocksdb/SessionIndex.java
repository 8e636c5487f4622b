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
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What is where of one session: its header and the names of everything else that is kept, so that an append writes without
 * reading, and a delete knows every key. It is ahead of the disk by the changes that are on their way; if one of them fails,
 * the shelf is thrown away and read anew. Guarded by the lock of its session.
 */
final class Shelf {
    private final SessionKey key;
    private Header header;
    private final Map<String, Long> journal = new HashMap<>(4);
    private long nextPlace;
    private final Set<StreamId> running = new HashSet<>(4);
    private final Map<StreamId, Track> tracks = new HashMap<>(4);

    /** The session of the same key that was deleted before, while that may still be on its way. */
    private volatile Optional<Shelf> predecessor = Optional.empty();

    private volatile boolean broken;
    private int onTheirWay;
    private boolean gone;
    private long usedAt;

    Shelf(SessionKey key, Header header) {
        this.key = key;
        this.header = header;
    }

    /** A session that is not on disk yet. */
    static Shelf create(SessionKey key, Epoch first, SessionRecord record, Openings openings, Changes changes) {
        Shelf shelf = new Shelf(key, Header.of(first, record, openings));
        changes.put(Keys.expiry(record.expiresAt(), key), new byte[0]);
        shelf.writeHeader(changes);
        record.journal().forEach((subject, message) -> shelf.note(subject, message, changes));
        record.running().forEach((stream, call) -> shelf.run(stream, call, changes));
        return shelf;
    }

    /** A session that is removed, of which nothing is known. */
    static Shelf remains(SessionKey key) {
        Shelf shelf = new Shelf(key, Header.NONE);
        shelf.gone = true;
        return shelf;
    }

    SessionKey key() {
        return key;
    }

    Header header() {
        return header;
    }

    /** This session comes after another one of the same key. */
    void follow(Shelf deleted) {
        predecessor = Optional.of(deleted);
    }

    /** Whether the disk may not have what this shelf, or the one it follows, says. Without the lock. */
    boolean broken() {
        return broken || predecessor.map(Shelf::broken).orElse(false);
    }

    /** A change did not reach the disk, or nobody knows. */
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

    /** Whether what comes next has to go the same way, so as not to overtake. */
    boolean waits() {
        return onTheirWay > 0 || predecessor.map(Shelf::waits).orElse(false);
    }

    /** Whether the session was deleted. */
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

    /** What is on disk under one of the session's keys. */
    void found(byte[] at, byte[] value) {
        switch (Keys.what(at)) {
            case Keys.JOURNAL -> {
                journal.put(Values.Noted.unpack(value).subject(), Keys.place(at));
                nextPlace = Keys.place(at) + 1;
            }
            case Keys.RUNNING -> running.add(Keys.stream(at));
            case Keys.TRIMMED -> track(Keys.stream(at)).wasTrimmed(Values.number(value));
            case Keys.EVENT -> track(Keys.stream(at)).add(Keys.offset(at));
            default -> {}
        }
    }

    private Track track(StreamId stream) {
        return tracks.computeIfAbsent(stream, id -> new Track());
    }

    Map<StreamId, Extent> extents() {
        Map<StreamId, Extent> extents = new HashMap<>();
        tracks.forEach((stream, track) -> extents.put(stream, new Extent(track.last(), track.trimmed())));
        return extents;
    }

    void claim(int nonce, Openings openings, Changes changes) {
        header = header.withNextEpoch(nonce, openings);
        writeHeader(changes);
    }

    void append(Append append, Changes changes) {
        for (Event event : append.events()) {
            track(event.stream()).add(event.offset());
            changes.put(Keys.event(key, event.stream(), event.offset()), Values.event(event));
        }
        Set<StreamId> shortened = new HashSet<>(4);
        for (Append.Trim trim : append.trims()) {
            Track track = tracks.get(trim.stream());
            if (track != null && track.trim(trim.offset())) {
                changes.delete(Keys.event(key, trim.stream(), trim.offset()));
                shortened.add(trim.stream());
            }
        }
        Header before = header;
        for (RecordChange change : append.changes()) {
            apply(change, shortened, changes);
        }
        if (!header.equals(before)) {
            writeHeader(changes);
        }
        shortened.forEach(stream -> mark(stream, changes));
    }

    private void apply(RecordChange change, Set<StreamId> shortened, Changes changes) {
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

    private void writeHeader(Changes changes) {
        changes.put(Keys.header(key), header.pack());
    }

    private void note(String subject, byte[] message, Changes changes) {
        long place = journal.computeIfAbsent(subject, fresh -> nextPlace++);
        changes.put(Keys.journal(key, place), new Values.Noted(subject, message).pack());
    }

    private void run(StreamId stream, RunningCall call, Changes changes) {
        running.add(stream);
        changes.put(Keys.running(key, stream), Values.call(call));
    }

    /** A stream has lost events, or its call: it is forgotten, or how much it has lost is kept. */
    private void mark(StreamId stream, Changes changes) {
        Track track = tracks.get(stream);
        if (track == null) {
            return;
        }
        boolean over = !stream.equals(StreamId.LISTENING) && !running.contains(stream);
        if (over && track.isEmpty()) {
            tracks.remove(stream);
            if (track.marked()) {
                changes.delete(Keys.trimmed(key, stream));
            }
        } else if (track.trimmed() > 0) {
            track.mark();
            changes.put(Keys.trimmed(key, stream), Values.number(track.trimmed()));
        }
    }

    /**
     * Deletes every key of the session, one by one. A range delete would be shorter to write, but each one is looked at by
     * every later read until it is compacted away, and sessions end by the thousand with a handful of keys each. Only what cannot
     * be read is deleted so.
     */
    void delete(Changes changes) {
        gone = true;
        changes.delete(Keys.expiry(header.expiresAt(), key));
        changes.delete(Keys.header(key));
        journal.values().forEach(place -> changes.delete(Keys.journal(key, place)));
        running.forEach(stream -> changes.delete(Keys.running(key, stream)));
        tracks.forEach((stream, track) -> {
            if (track.marked()) {
                changes.delete(Keys.trimmed(key, stream));
            }
            for (long offset : track.offsets()) {
                changes.delete(Keys.event(key, stream, offset));
            }
        });
    }
}
