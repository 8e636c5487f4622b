package dev.holdfast.redis;

import static dev.holdfast.redis.RedisCodec.digits;
import static dev.holdfast.redis.RedisCodec.epoch;
import static dev.holdfast.redis.RedisCodec.eventTail;
import static dev.holdfast.redis.RedisCodec.join;
import static dev.holdfast.redis.RedisCodec.packed;
import static dev.holdfast.redis.RedisCodec.rest;
import static dev.holdfast.redis.RedisCodec.sized;
import static dev.holdfast.redis.RedisCodec.stream;
import static dev.holdfast.redis.RedisCodec.text;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StreamId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * A session's record as Redis keeps it: a hash, each field of which begins with a letter.
 *
 * <pre>
 *   v   format of the hash, then what never changes: version, kind, principal     r   revision
 *   x   when it expires, in milliseconds since 1970                              e   extension
 *   E   the epochs, oldest first                                                 V   version of the journal
 *   o   the replication history of the server that the session is known to       J   the last place given in the journal
 *   c   counter of the first epoch since which surely nothing was lost
 *   j and a key       a message of the journal, behind its place
 *   k and a stream    a running call                    s and a stream    its last offset, and the highest that was trimmed
 *   a and a stream    the requests that were answered as its call ended
 *   m and an epoch    one that is present: the number of its last commit, what that answered, and its node
 *   t, R, H or B, and a stream    a token
 * </pre>
 */
final class SessionHash {
    private static final String REVISION = "r";
    private static final String EXTENSION = "e";
    private static final byte FORMAT = 1;

    private final Map<String, byte[]> fields = new HashMap<>();
    private final NavigableMap<Long, Map.Entry<String, byte[]>> journal = new TreeMap<>();
    private final Map<StreamId, RunningCall> running = new HashMap<>();
    private final Map<StreamId, Extent> streams = new HashMap<>();
    private final Map<StreamId, byte[]> answered = new HashMap<>();

    /**
     * Reads a hash.
     *
     * @param hash its fields and values in turn
     */
    SessionHash(List<?> hash) {
        for (int i = 0; i < hash.size(); i += 2) {
            read((byte[]) hash.get(i), (byte[]) hash.get(i + 1));
        }
        answered.forEach(this::lost);
    }

    private void read(byte[] name, byte[] value) {
        ByteBuffer field = ByteBuffer.wrap(name);
        switch (field.get()) {
            case 'j' -> {
                ByteBuffer message = ByteBuffer.wrap(value);
                long place = message.getLong();
                journal.put(place, Map.entry(text(rest(field)), rest(message)));
            }
            case 'k' -> running.put(stream(field), call(value));
            case 's' -> {
                String[] extent = text(value).split(" ", 2);
                streams.put(stream(field), new Extent(Long.parseLong(extent[0]), Long.parseLong(extent[1])));
            }
            case 'a' -> answered.put(stream(field), value);
            case 'm', 't' -> {
                // members and tokens are asked for by themselves
            }
            default -> fields.put(text(name), value);
        }
    }

    /** If nothing is left of the stream of a call that has ended, its response is lost. */
    private void lost(StreamId stream, byte[] requests) {
        streams.computeIfPresent(
                stream,
                (id, extent) -> extent.bare()
                        ? new Extent(
                                extent.last(), extent.trimmed(), call(requests).requests())
                        : extent);
    }

    private byte[] field(String name) {
        byte[] value = fields.get(name);
        if (value == null) {
            throw new IllegalArgumentException("the record has no field " + name);
        }
        return value;
    }

    SessionStore.Claim claim() {
        List<Epoch> epochs = epochs();
        List<Epoch> before = List.copyOf(epochs.subList(0, epochs.size() - 1));
        return new SessionStore.Claim(epochs.get(epochs.size() - 1), before, record(), streams, certainFrom());
    }

    private int certainFrom() {
        return Math.toIntExact(digits(field("c")));
    }

    SharedSessionStore.Joined joined() {
        return new SharedSessionStore.Joined(claim(), digits(field("V")));
    }

    SessionStore.Look look() {
        List<Epoch> epochs = epochs();
        return new SessionStore.Look(epochs.get(epochs.size() - 1), record(), streams, certainFrom());
    }

    private List<Epoch> epochs() {
        ByteBuffer from = ByteBuffer.wrap(field("E"));
        List<Epoch> epochs = new ArrayList<>();
        do {
            epochs.add(epoch(from));
        } while (from.hasRemaining());
        return epochs;
    }

    private SessionRecord record() {
        ByteBuffer fixed = ByteBuffer.wrap(field("v"));
        byte format = fixed.get();
        if (format != FORMAT) {
            throw new RedisStoreException(
                    "a session",
                    "was written in format " + format + ", and this version reads format " + FORMAT
                            + ": update all nodes to the version that has written it");
        }
        Map<String, byte[]> ordered = new LinkedHashMap<>();
        journal.values().forEach(message -> ordered.put(message.getKey(), message.getValue()));
        return new SessionRecord(
                fixed.getInt(),
                sized(fixed),
                sized(fixed),
                digits(field("x")),
                field(EXTENSION),
                text(field(REVISION)),
                ordered,
                running);
    }

    /** Fields and values of a new record, but for those that {@code create.lua} sets itself. */
    static List<byte[]> fields(SessionRecord record) {
        List<byte[]> fields = new ArrayList<>();
        byte[] fixed =
                join(new byte[] {FORMAT}, packed(record.version()), sized(record.kind()), sized(record.principal()));
        Collections.addAll(
                fields, text("v"), fixed, text(REVISION), text(record.revision()), text(EXTENSION), record.extension());
        long place = 0;
        for (Map.Entry<String, byte[]> message : record.journal().entrySet()) {
            place++;
            fields.add(text("j" + message.getKey()));
            fields.add(join(packed(place), message.getValue()));
        }
        fields.add(text("J"));
        fields.add(digits(place));
        record.running().forEach((stream, call) -> {
            fields.add(join(text("k"), stream(stream)));
            fields.add(call(call.requests(), call.extension()));
        });
        return fields;
    }

    /** Adds the events, the trims and the changes of an append to the arguments of {@code commit.lua}. */
    static void addTo(List<byte[]> arguments, Append append) {
        arguments.add(digits(append.events().size()));
        for (Event event : append.events()) {
            arguments.add(stream(event.stream()));
            arguments.add(digits(event.offset()));
            arguments.add(eventTail(event));
        }
        arguments.add(digits(append.trims().size()));
        for (Append.Trim trim : append.trims()) {
            arguments.add(stream(trim.stream()));
            arguments.add(packed(trim.offset()));
        }
        append.changes().forEach(change -> addTo(arguments, change, append.events()));
    }

    private static void addTo(List<byte[]> arguments, RecordChange change, List<Event> events) {
        if (change instanceof RecordChange.CallStarted started) {
            byte[] call = call(started.requests(), started.extension());
            add(arguments, "C", stream(started.stream()), call);
        } else if (change instanceof RecordChange.CallEnded ended) {
            add(arguments, "D", stream(ended.stream()), answered(ended.stream(), events));
        } else if (change instanceof RecordChange.Negotiated negotiated) {
            add(arguments, "F", text(REVISION), text(negotiated.revision()));
            add(arguments, "J", text(SessionRecord.INITIALIZE), negotiated.initialize());
        } else if (change instanceof RecordChange.JournalPut put) {
            add(arguments, "J", text(put.key()), put.message());
        } else if (change instanceof RecordChange.JournalRemoved removed) {
            add(arguments, "K", text(removed.key()));
        } else if (change instanceof RecordChange.Expires expires) {
            add(arguments, "X", digits(expires.at()));
        } else if (change instanceof RecordChange.Extended extended) {
            add(arguments, "F", text(EXTENSION), extended.extension());
        }
    }

    private static void add(List<byte[]> arguments, String letter, byte[]... values) {
        arguments.add(text(letter));
        Collections.addAll(arguments, values);
    }

    /** The requests that events answer on a stream, packed; empty if none do. */
    private static byte[] answered(StreamId stream, List<Event> events) {
        List<RequestId> answered = new ArrayList<>(1);
        for (Event event : events) {
            RequestId id = event.id();
            if (id != null && EventKind.answers(event.kind()) && event.stream().equals(stream)) {
                answered.add(id);
            }
        }
        return answered.isEmpty() ? new byte[0] : call(answered, SessionRecord.NO_EXTENSION);
    }

    /** The name of a token, but for its first letter. */
    static byte[] token(SharedSessionStore.Part part, StreamId stream) {
        String letter = switch (part) {
            case READER -> "R";
            case HEIR -> "H";
            case BACKEND -> "B";
        };
        return join(text(letter), stream(stream));
    }

    private static byte[] call(List<RequestId> requests, byte[] extension) {
        List<byte[]> parts = new ArrayList<>();
        parts.add(packed(requests.size()));
        requests.forEach(request -> parts.add(sized(request.token())));
        parts.add(extension);
        return join(parts.toArray(byte[][]::new));
    }

    private static RunningCall call(byte[] packed) {
        ByteBuffer from = ByteBuffer.wrap(packed);
        int count = from.getInt();
        List<RequestId> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requests.add(new RequestId(sized(from)));
        }
        return new RunningCall(requests, rest(from));
    }

    /** Reads what {@code members.lua} returns, oldest first. */
    static List<SharedSessionStore.Member> members(List<?> found) {
        List<SharedSessionStore.Member> members = new ArrayList<>();
        for (int i = 0; i < found.size(); i += 2) {
            ByteBuffer name = ByteBuffer.wrap((byte[]) found.get(i)).position(1);
            String node = text((byte[]) found.get(i + 1)).split(" ", 4)[3];
            members.add(new SharedSessionStore.Member(epoch(name), node));
        }
        members.sort(Comparator.comparingInt(member -> member.epoch().counter()));
        return members;
    }
}
