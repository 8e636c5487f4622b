package dev.holdfast;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/** Keeps sessions in this JVM's heap; they are lost with the process. Every stage is complete when it is returned. */
public final class MemoryStore implements SessionStore {
    private static final Promise PROMISE = new Promise(Durability.NOTHING, false);
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final Map<SessionKey, Kept> sessions = new ConcurrentHashMap<>();

    @Override
    public Promise promise() {
        return PROMISE;
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        return sessions.putIfAbsent(key, new Kept(epoch, record)) == null
                ? DONE
                : CompletableFuture.failedFuture(new IllegalStateException("the session exists"));
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, Epoch next) {
        Kept kept = sessions.get(key);
        if (kept == null) {
            return CompletableFuture.completedFuture(Optional.empty());
        }
        synchronized (kept) {
            if (next.counter() <= kept.epoch.counter()) {
                return CompletableFuture.failedFuture(new StaleEpochException(next, kept.epoch));
            }
            return CompletableFuture.completedFuture(Optional.of(kept.claim(next)));
        }
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        Kept kept = sessions.get(key);
        if (kept == null) {
            return CompletableFuture.failedFuture(new IllegalStateException("no such session"));
        }
        synchronized (kept) {
            if (!kept.epoch.equals(epoch)) {
                return CompletableFuture.failedFuture(new StaleEpochException(epoch, kept.epoch));
            }
            kept.append(append);
            return DONE;
        }
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        Kept kept = sessions.get(key);
        if (kept == null) {
            return CompletableFuture.completedFuture(List.of());
        }
        synchronized (kept) {
            return CompletableFuture.completedFuture(kept.read(stream, after, maxBytes));
        }
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        sessions.remove(key);
        return DONE;
    }

    @Override
    public void close() {
        sessions.clear();
    }

    /** One session; its own monitor guards it. */
    private static final class Kept {
        private Epoch epoch;
        private final SessionRecord record;
        private final Map<String, byte[]> journal;
        private String revision;
        private final Map<StreamId, List<RequestId>> running = new HashMap<>(0);
        private final Map<StreamId, NavigableMap<Long, Event>> streams = new HashMap<>(0);

        private Kept(Epoch epoch, SessionRecord record) {
            this.epoch = epoch;
            this.record = record;
            this.journal = new LinkedHashMap<>(record.journal());
            this.revision = record.revision();
        }

        private Claim claim(Epoch next) {
            epoch = next;
            Map<StreamId, Long> ends = new HashMap<>();
            streams.forEach((stream, events) -> ends.put(stream, events.lastKey()));
            SessionRecord now = new SessionRecord(
                    record.version(),
                    record.kind(),
                    record.principal(),
                    revision,
                    new LinkedHashMap<>(journal),
                    Map.copyOf(running));
            return new Claim(now, ends);
        }

        private void append(Append append) {
            for (Append.Trim trim : append.trims()) {
                NavigableMap<Long, Event> events = streams.get(trim.stream());
                if (events != null && events.remove(trim.offset()) != null && events.isEmpty()) {
                    streams.remove(trim.stream());
                }
            }
            for (Event event : append.events()) {
                streams.computeIfAbsent(event.stream(), stream -> new TreeMap<>())
                        .put(event.offset(), event);
            }
            append.changes().forEach(this::apply);
        }

        private void apply(RecordChange change) {
            if (change instanceof RecordChange.CallStarted started) {
                running.put(started.stream(), started.requests());
            } else if (change instanceof RecordChange.CallEnded ended) {
                running.remove(ended.stream());
            } else if (change instanceof RecordChange.Negotiated negotiated) {
                revision = negotiated.revision();
                journal.put(SessionRecord.INITIALIZE, negotiated.initialize());
            } else if (change instanceof RecordChange.JournalPut put) {
                journal.put(put.key(), put.message());
            } else if (change instanceof RecordChange.JournalRemoved removed) {
                journal.remove(removed.key());
            }
        }

        private List<Event> read(StreamId stream, long after, int maxBytes) {
            List<Event> found = new ArrayList<>();
            long room = maxBytes;
            NavigableMap<Long, Event> events = streams.getOrDefault(stream, new TreeMap<>());
            for (Event event : events.tailMap(after, false).values()) {
                room -= event.bytes().length;
                if (!found.isEmpty() && room < 0) {
                    break;
                }
                found.add(event);
            }
            return found;
        }
    }
}
