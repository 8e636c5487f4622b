package dev.holdfast.tck;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One session in a {@link MemoryStore}; its own monitor guards it. */
final class MemorySession {
    private final List<Epoch> epochs = new ArrayList<>(1);
    private final SessionRecord first;
    private final Map<String, byte[]> journal;
    private final Map<StreamId, RunningCall> running;
    private final Map<StreamId, MemoryStream> streams = new HashMap<>(0);
    private String revision;
    private byte[] extension;
    private volatile long expiresAt;

    MemorySession(Epoch epoch, SessionRecord record) {
        this.epochs.add(epoch);
        this.first = record;
        this.journal = new LinkedHashMap<>(record.journal());
        this.running = new HashMap<>(record.running());
        this.revision = record.revision();
        this.extension = record.extension();
        this.expiresAt = record.expiresAt();
    }

    long expiresAt() {
        return expiresAt;
    }

    private Epoch epoch() {
        return epochs.get(epochs.size() - 1);
    }

    synchronized SessionStore.Claim claim(int nonce) {
        List<Epoch> before = List.copyOf(epochs);
        epochs.add(new Epoch(epoch().counter() + 1, nonce));
        if (epochs.size() > SessionStore.EPOCHS_KEPT) {
            epochs.remove(0);
        }
        return new SessionStore.Claim(epoch(), before, record(), extents(), 1);
    }

    /** Whether this is the present epoch. */
    synchronized boolean ownedUnder(Epoch epoch) {
        return epoch().equals(epoch);
    }

    synchronized SessionStore.Look look() {
        return new SessionStore.Look(epoch(), record(), extents(), 1);
    }

    private SessionRecord record() {
        return new SessionRecord(
                first.version(),
                first.kind(),
                first.principal(),
                expiresAt,
                extension,
                revision,
                new LinkedHashMap<>(journal),
                Map.copyOf(running));
    }

    private Map<StreamId, SessionStore.Extent> extents() {
        Map<StreamId, SessionStore.Extent> extents = new HashMap<>();
        streams.forEach((id, stream) ->
                extents.put(id, new SessionStore.Extent(stream.last(), stream.trimmed(), stream.lost())));
        return extents;
    }

    /** Appends under the present epoch only; returns which that is. */
    synchronized Epoch append(Epoch epoch, Append append) {
        if (epoch().equals(epoch)) {
            write(append);
        }
        return epoch();
    }

    /** Appends under whatever epoch; inside the monitor where somebody else may use the session. */
    void write(Append append) {
        // a call's end comes last: its stream may get its last event with it
        append.events().forEach(this::add);
        append.trims().forEach(this::trim);
        append.changes().forEach(this::apply);
    }

    /** The last offset that a stream had, 0 where it is not known; as {@link #write}. */
    long last(StreamId id) {
        MemoryStream stream = streams.get(id);
        return stream == null ? 0 : stream.last();
    }

    private void add(Event event) {
        streams.computeIfAbsent(event.stream(), id -> new MemoryStream()).add(event);
    }

    private void trim(Append.Trim trim) {
        MemoryStream stream = streams.get(trim.stream());
        if (stream != null && stream.trim(trim.offset())) {
            forgetIfOver(trim.stream());
        }
    }

    /** A stream has lost an event, or its call. */
    private void forgetIfOver(StreamId id) {
        MemoryStream stream = streams.get(id);
        boolean over = !id.equals(StreamId.LISTENING) && !running.containsKey(id);
        if (over && stream != null && stream.isEmpty()) {
            streams.remove(id);
        }
    }

    private void apply(RecordChange change) {
        if (change instanceof RecordChange.CallStarted started) {
            running.put(started.stream(), new RunningCall(started.requests(), started.extension()));
        } else if (change instanceof RecordChange.CallEnded ended) {
            running.remove(ended.stream());
            forgetIfOver(ended.stream());
        } else if (change instanceof RecordChange.Negotiated negotiated) {
            revision = negotiated.revision();
            journal.put(SessionRecord.INITIALIZE, negotiated.initialize());
        } else if (change instanceof RecordChange.JournalPut put) {
            journal.put(put.key(), put.message());
        } else if (change instanceof RecordChange.JournalRemoved removed) {
            journal.remove(removed.key());
        } else if (change instanceof RecordChange.Expires expires) {
            expiresAt = expires.at();
        } else if (change instanceof RecordChange.Extended extended) {
            extension = extended.extension();
        }
    }

    synchronized void loseEvents() {
        streams.values().forEach(MemoryStream::lose);
    }

    synchronized List<Event> read(StreamId id, long after, int maxBytes) {
        MemoryStream stream = streams.get(id);
        return stream == null ? List.of() : stream.after(after, maxBytes);
    }
}
