package dev.holdfast.redis;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.SharedSessionStore;
import dev.holdfast.spi.StreamId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
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
 *   o   the history of the server that the session is known to                   J   the last place given in the journal
 *   c   counter of the first epoch since which surely nothing was lost
 *   j and a key       a message of the journal, behind its place
 *   k and a stream    a running call                    s and a stream    its last offset, and the highest that was trimmed
 *   a and a stream    the requests that were answered as its call ended
 *   m and an epoch    one that is present: the number of its last commit, what that answered, and its node
 *   t, R, H or B, and a stream    a token
 * </pre>
 */
final class StoredSession {
    static final String REVISION = "r";
    static final String EXTENSION = "e";
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
    StoredSession(List<?> hash) {
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
                journal.put(place, Map.entry(Codec.text(Codec.rest(field)), Codec.rest(message)));
            }
            case 'k' -> running.put(Codec.stream(field), call(ByteBuffer.wrap(value)));
            case 's' -> {
                String[] extent = Codec.text(value).split(" ", 2);
                streams.put(Codec.stream(field), new Extent(Long.parseLong(extent[0]), Long.parseLong(extent[1])));
            }
            case 'a' -> answered.put(Codec.stream(field), value);
            case 'm', 't' -> {
                // what is asked for by itself
            }
            default -> fields.put(Codec.text(name), value);
        }
    }

    /** Nothing is left of a call that has ended: its response is lost. */
    private void lost(StreamId stream, byte[] requests) {
        streams.computeIfPresent(
                stream,
                (id, extent) -> extent.trimmed() < extent.last()
                        ? extent
                        : new Extent(
                                extent.last(),
                                extent.trimmed(),
                                call(ByteBuffer.wrap(requests)).requests()));
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
        return Math.toIntExact(Codec.digits(field("c")));
    }

    SharedSessionStore.Joined joined() {
        return new SharedSessionStore.Joined(claim(), Codec.digits(field("V")));
    }

    SessionStore.Look look() {
        List<Epoch> epochs = epochs();
        return new SessionStore.Look(epochs.get(epochs.size() - 1), record(), streams, certainFrom());
    }

    private List<Epoch> epochs() {
        ByteBuffer from = ByteBuffer.wrap(field("E"));
        List<Epoch> epochs = new ArrayList<>();
        do {
            epochs.add(Codec.epoch(from));
        } while (from.hasRemaining());
        return epochs;
    }

    private SessionRecord record() {
        ByteBuffer fixed = ByteBuffer.wrap(field("v"));
        byte format = fixed.get();
        if (format != FORMAT) {
            throw new RedisStoreException("a session", "was written in format " + format + ", known is " + FORMAT);
        }
        Map<String, byte[]> ordered = new LinkedHashMap<>();
        journal.values().forEach(message -> ordered.put(message.getKey(), message.getValue()));
        return new SessionRecord(
                fixed.getInt(),
                Codec.text(fixed),
                Codec.text(fixed),
                Codec.digits(field("x")),
                field(EXTENSION),
                Codec.text(field(REVISION)),
                ordered,
                running);
    }

    /** Fields and values of a new record, but for those that {@code create.lua} sets itself. */
    static List<byte[]> fields(SessionRecord record) {
        List<byte[]> fields = new ArrayList<>();
        fields.add(Codec.text("v"));
        fields.add(new Codec.Output()
                .rest(new byte[] {FORMAT})
                .add(record.version())
                .add(record.kind())
                .add(record.principal())
                .pack());
        fields.add(Codec.text(REVISION));
        fields.add(Codec.text(record.revision()));
        fields.add(Codec.text(EXTENSION));
        fields.add(record.extension());
        long place = 0;
        for (Map.Entry<String, byte[]> message : record.journal().entrySet()) {
            place++;
            fields.add(Codec.text("j" + message.getKey()));
            fields.add(new Codec.Output()
                    .rest(Codec.packed(place))
                    .rest(message.getValue())
                    .pack());
        }
        fields.add(Codec.text("J"));
        fields.add(Codec.digits(place));
        record.running().forEach((stream, call) -> {
            fields.add(new Codec.Output()
                    .rest(Codec.text("k"))
                    .rest(Codec.stream(stream))
                    .pack());
            fields.add(call(call.requests(), call.extension()));
        });
        return fields;
    }

    /** The name of a token, but for its first letter. */
    static byte[] token(SharedSessionStore.Part part, StreamId stream) {
        String letter = switch (part) {
            case READER -> "R";
            case HEIR -> "H";
            case BACKEND -> "B";
        };
        return new Codec.Output()
                .rest(Codec.text(letter))
                .rest(Codec.stream(stream))
                .pack();
    }

    static byte[] call(List<RequestId> requests, byte[] extension) {
        Codec.Output output = new Codec.Output().add(requests.size());
        requests.forEach(request -> output.add(request.token()));
        return output.rest(extension).pack();
    }

    private static RunningCall call(ByteBuffer from) {
        int count = from.getInt();
        List<RequestId> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requests.add(new RequestId(Codec.text(from)));
        }
        return new RunningCall(requests, Codec.rest(from));
    }

    /** Reads what {@code members.lua} returns, oldest first. */
    static List<SharedSessionStore.Member> members(List<?> found) {
        List<SharedSessionStore.Member> members = new ArrayList<>();
        for (int i = 0; i < found.size(); i += 2) {
            ByteBuffer name = ByteBuffer.wrap((byte[]) found.get(i)).position(1);
            String node = Codec.text((byte[]) found.get(i + 1)).split(" ", 4)[3];
            members.add(new SharedSessionStore.Member(Codec.epoch(name), node));
        }
        members.sort(Comparator.comparingInt(member -> member.epoch().counter()));
        return members;
    }
}
