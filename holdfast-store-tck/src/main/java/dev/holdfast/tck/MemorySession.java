package dev.holdfast.tck;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.cluster.SharedSessionStore.Appended;
import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.TreeMap;

/** One session in a {@link MemoryCluster}; its own monitor guards it. */
final class MemorySession {
    private final List<Epoch> epochs = new ArrayList<>(1);
    /** The present epochs, in the order in which they came. */
    private final Map<Epoch, Membership> present = new LinkedHashMap<>();

    private final SessionRecord first;
    private final Map<String, byte[]> journal;
    private final Map<StreamId, RunningCall> running;
    private final Map<StreamId, Stream> streams = new HashMap<>(0);
    private final Map<TokenName, Long> tokens = new HashMap<>(0);
    private String revision;
    private byte[] extension;
    private long version;
    private volatile long expiresAt;

    private record TokenName(StreamId stream, Part part) {}

    /** Who is present under an epoch, and the last commit that has a number there. */
    private static final class Membership {
        private final String node;
        private long number;
        private Appended answer = new Appended(0, 0);

        private Membership(String node) {
            this.node = node;
        }
    }

    private static final class Stream {
        private final NavigableMap<Long, Event> events = new TreeMap<>();
        private long last;
        private long trimmed;
        private List<RequestId> lost = List.of();

        private void add(Event event) {
            // what came before the first event that it has is gone, and what was left out counts so
            trimmed = event.offset() > last + 1 ? event.offset() - 1 : trimmed;
            last = Math.max(last, event.offset());
            events.put(event.offset(), event);
        }

        private void lose() {
            lost = events.values().stream()
                    .filter(event -> EventKind.answers(event.kind()))
                    .map(Event::id)
                    .filter(Objects::nonNull)
                    .toList();
            events.clear();
            trimmed = last;
        }
    }

    MemorySession(Epoch epoch, SessionRecord record, String node) {
        this.epochs.add(epoch);
        this.present.put(epoch, new Membership(node));
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
        present.clear();
        return enter(nonce, "");
    }

    synchronized SharedSessionStore.Joined join(int nonce, String node) {
        return new SharedSessionStore.Joined(enter(nonce, node), version);
    }

    private SessionStore.Claim enter(int nonce, String node) {
        List<Epoch> before = List.copyOf(epochs);
        epochs.add(new Epoch(epoch().counter() + 1, nonce));
        if (epochs.size() > SessionStore.EPOCHS_KEPT) {
            epochs.remove(0);
        }
        present.put(epoch(), new Membership(node));
        return new SessionStore.Claim(epoch(), before, record(), extents(), 1);
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
        streams.forEach(
                (id, stream) -> extents.put(id, new SessionStore.Extent(stream.last, stream.trimmed, stream.lost)));
        return extents;
    }

    synchronized boolean fence(Epoch epoch) {
        return present.remove(epoch) != null;
    }

    synchronized List<Member> members() {
        List<Member> members = new ArrayList<>(present.size());
        present.forEach((epoch, membership) -> members.add(new Member(epoch, membership.node)));
        return members;
    }

    /** Whether no other epoch is present. */
    synchronized boolean ownedUnder(Epoch epoch) {
        return present.keySet().stream().allMatch(epoch::equals);
    }

    synchronized Appended commit(Epoch epoch, long number, Append append) {
        Membership membership = member(epoch);
        boolean numbered = number != SharedSessionStore.UNNUMBERED;
        if (numbered && number == membership.number) {
            return membership.answer;
        }
        if (numbered && number != membership.number + 1) {
            throw new StaleEpochException(epoch, epoch());
        }
        // a call's end comes last: its stream may get its last event with it
        append.events().forEach(this::add);
        append.trims().forEach(this::trim);
        append.changes().forEach(this::apply);
        version += append.changes().stream().anyMatch(MemorySession::concernsJournal) ? 1 : 0;
        Appended answer = new Appended(last(StreamId.LISTENING), version);
        if (numbered) {
            membership.number = number;
            membership.answer = answer;
        }
        return answer;
    }

    private Membership member(Epoch epoch) {
        Membership membership = present.get(epoch);
        if (membership == null) {
            throw new StaleEpochException(epoch, epoch());
        }
        return membership;
    }

    private static boolean concernsJournal(RecordChange change) {
        return change instanceof RecordChange.Negotiated
                || change instanceof RecordChange.JournalPut
                || change instanceof RecordChange.JournalRemoved;
    }

    private long last(StreamId id) {
        Stream stream = streams.get(id);
        return stream == null ? 0 : stream.last;
    }

    private void add(Event event) {
        boolean unplaced = event.stream().equals(StreamId.LISTENING) && event.offset() == Event.UNPLACED;
        Event placed = unplaced ? event.at(last(StreamId.LISTENING) + 1) : event;
        streams.computeIfAbsent(event.stream(), id -> new Stream()).add(placed);
    }

    private void trim(Append.Trim trim) {
        Stream stream = streams.get(trim.stream());
        if (stream != null && stream.events.remove(trim.offset()) != null) {
            stream.trimmed = Math.max(stream.trimmed, trim.offset());
            forgetIfOver(trim.stream());
        }
    }

    /** A stream has lost an event, or its call. */
    private void forgetIfOver(StreamId id) {
        Stream stream = streams.get(id);
        boolean over = !id.equals(StreamId.LISTENING) && !running.containsKey(id);
        if (over && stream != null && stream.events.isEmpty()) {
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

    synchronized long token(Epoch epoch, StreamId stream, Part part, long expected, long token) {
        member(epoch);
        TokenName name = new TokenName(stream, part);
        long now = tokens.getOrDefault(name, SharedSessionStore.NO_TOKEN);
        if (now != expected) {
            return now;
        }
        tokens.put(name, token);
        return token;
    }

    synchronized void loseEvents() {
        streams.values().forEach(Stream::lose);
    }

    /** The events after an offset, at least one if there is one, and no more than fit beyond that. */
    synchronized List<Event> read(StreamId id, long after, int maxBytes) {
        List<Event> found = new ArrayList<>();
        Stream stream = streams.get(id);
        long room = maxBytes;
        if (stream != null) {
            for (Event event : stream.events.tailMap(after, false).values()) {
                room -= event.bytes().length;
                if (!found.isEmpty() && room < 0) {
                    break;
                }
                found.add(event);
            }
        }
        return found;
    }
}
