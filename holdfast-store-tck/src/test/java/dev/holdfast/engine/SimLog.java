package dev.holdfast.engine;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** What really happened to one session, kept by the simulation: every event that its store ever took. */
final class SimLog {
    /** One event, and what became of it. */
    static final class Fact {
        final Event event;
        final int size;
        /** The engine knows that the store has it. */
        boolean acked;
        /** The engine does not keep it any more. */
        boolean dropped;
        /** When it was acknowledged. */
        long since;
        /** The client got it, somewhere. */
        boolean received;
        /** The store does not keep it any more. */
        boolean trimmed;

        Fact(Event event) {
            this.event = event;
            this.size = event.bytes().length + 128;
        }

        boolean ping() {
            return event.kind() == EventKind.PING;
        }

        boolean note() {
            return event.kind() == EventKind.NOTE;
        }

        boolean listening() {
            return event.stream().equals(StreamId.LISTENING);
        }

        boolean answer() {
            return EventKind.answers(event.kind());
        }
    }

    private final Map<StreamId, NavigableMap<Long, Fact>> streams = new HashMap<>();
    private final Set<StreamId> recorded = new HashSet<>();
    private final List<Fact> unacked = new ArrayList<>();
    /** Up to where the store had trimmed each stream when the session last came back. */
    private final Map<StreamId, Long> trimmedBefore = new HashMap<>();

    private final Map<RequestId, Integer> answers = new HashMap<>();
    private final Set<byte[]> ackedMessages = Collections.newSetFromMap(new IdentityHashMap<>());
    private final LongSupplier tick;
    private final Consumer<Fact> onAcked;

    SimLog(LongSupplier tick, Consumer<Fact> onAcked) {
        this.tick = tick;
        this.onAcked = onAcked;
    }

    /** The request to the client that has this id. */
    Optional<Fact> asked(RequestId id) {
        return streams.values().stream()
                .flatMap(stream -> stream.values().stream())
                .filter(fact -> EventKind.asks(fact.event.kind()) && id.equals(fact.event.id()))
                .findFirst();
    }

    /** Whether the store has ever heard of a stream. */
    boolean recorded(StreamId stream) {
        return recorded.contains(stream);
    }

    void applied(Append append) {
        for (Event event : append.events()) {
            Fact fact = new Fact(event);
            Fact before = streams.computeIfAbsent(event.stream(), id -> new TreeMap<>())
                    .putIfAbsent(event.offset(), fact);
            if (before != null) {
                throw new AssertionError("the offset of " + name(before) + " was given again to " + name(fact));
            }
            unacked.add(fact);
            recorded.add(event.stream());
        }
        for (RecordChange change : append.changes()) {
            if (change instanceof RecordChange.CallStarted started) {
                recorded.add(started.stream());
            }
        }
        for (Append.Trim trim : append.trims()) {
            Fact fact = stream(trim.stream()).get(trim.offset());
            if (fact != null) {
                fact.trimmed = true;
            }
        }
    }

    /** The session comes back: what is there again is what the store keeps, and what is older than what follows its streams. */
    void returned(Map<StreamId, SessionStore.Extent> extents) {
        trimmedBefore.clear();
        extents.forEach((stream, extent) -> trimmedBefore.put(stream, extent.trimmed()));
        streams.keySet().stream()
                .sorted(Comparator.comparingInt(StreamId::epoch).thenComparingLong(StreamId::number))
                .flatMap(stream -> stream(stream).values().stream())
                .forEach(fact -> {
                    fact.dropped = fact.trimmed;
                    fact.since = tick.getAsLong();
                });
    }

    /** The store has told the engine of everything it took. */
    void acked() {
        for (Fact fact : unacked) {
            fact.acked = true;
            ackedMessages.add(fact.event.bytes());
            fact.since = tick.getAsLong();
            RequestId id = fact.event.id();
            if (fact.answer() && id != null && answers.merge(id, 1, Integer::sum) > 1) {
                throw new AssertionError("request " + id + " has two answers");
            }
            onAcked.accept(fact);
        }
        unacked.clear();
    }

    /** Whether the engine knows that the store has this message. */
    boolean acked(byte[] message) {
        return ackedMessages.contains(message);
    }

    boolean answered(RequestId request) {
        return answers.containsKey(request);
    }

    /** What stands at an event's place; one that nobody will read any more, for its session has ended, has no bytes. */
    Fact fact(Event event) {
        Fact fact = stream(event.stream()).get(event.offset());
        if (fact == null || (fact.event.bytes() != event.bytes() && event.bytes().length > 0)) {
            throw new AssertionError("the store never took " + Wire.text(event));
        }
        return fact;
    }

    NavigableMap<Long, Fact> stream(StreamId stream) {
        return streams.getOrDefault(stream, new TreeMap<>());
    }

    /** What was acknowledged on a stream after one offset and before another. */
    List<Fact> between(StreamId stream, long after, long before) {
        if (after + 1 >= before) {
            return List.of();
        }
        return stream(stream).subMap(after, false, before, false).values().stream()
                .filter(fact -> fact.acked)
                .toList();
    }

    /** What was acknowledged on a stream after an offset. */
    List<Fact> after(StreamId stream, long offset) {
        return between(stream, offset, Long.MAX_VALUE);
    }

    /** The highest offset up to which something was dropped; where the store is not asked, something not only for the moment. */
    long dropped(StreamId stream) {
        long before = trimmedBefore.getOrDefault(stream, 0L);
        for (Fact fact : stream(stream).descendingMap().values()) {
            if (fact.dropped && !fact.ping()) {
                return Math.max(before, fact.event.offset());
            }
        }
        return before;
    }

    Collection<NavigableMap<Long, Fact>> all() {
        return streams.values();
    }

    static String name(Fact fact) {
        return name(fact.event);
    }

    static String name(Event event) {
        return "'" + Wire.text(event).trim() + "' (" + event.stream().epoch() + "."
                + event.stream().number() + " @" + event.offset() + ")";
    }
}
