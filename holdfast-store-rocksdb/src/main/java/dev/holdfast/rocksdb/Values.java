package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord.RunningCall;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** The values of the database: numbers are big-endian, texts and byte arrays follow their length, the last one has none. */
final class Values {
    private static final int NO_ID = -1;
    private static final int EVENT_BYTES = 2 * Integer.BYTES + 1 + Integer.BYTES;

    private Values() {}

    static byte[] event(Event event) {
        RequestId id = event.id();
        byte[] token = id == null ? new byte[0] : id.token().getBytes(UTF_8);
        return ByteBuffer.allocate(EVENT_BYTES + token.length + event.bytes().length)
                .putInt(event.epoch().counter())
                .putInt(event.epoch().nonce())
                .put(event.kind())
                .putInt(id == null ? NO_ID : token.length)
                .put(token)
                .put(event.bytes())
                .array();
    }

    static Event event(byte[] key, byte[] packed) {
        ByteBuffer from = ByteBuffer.wrap(packed);
        Epoch epoch = new Epoch(from.getInt(), from.getInt());
        byte kind = from.get();
        int length = from.getInt();
        RequestId id = length == NO_ID ? null : new RequestId(new String(take(from, length), UTF_8));
        return new Event(Keys.stream(key), epoch, Keys.offset(key), kind, id, rest(from));
    }

    static byte[] call(RunningCall call) {
        List<byte[]> parts = new ArrayList<>();
        parts.add(number(call.requests().size()));
        call.requests().forEach(id -> parts.add(sized(id.token())));
        parts.add(sized(call.extension()));
        return join(parts);
    }

    static RunningCall call(byte[] packed) {
        ByteBuffer from = ByteBuffer.wrap(packed);
        int count = count(from);
        List<RequestId> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requests.add(new RequestId(text(from)));
        }
        return new RunningCall(List.copyOf(requests), sized(from));
    }

    /** A message of the journal, and its key there. */
    record JournalEntry(String subject, byte[] message) {
        byte[] pack() {
            return join(List.of(sized(subject), message));
        }

        static JournalEntry unpack(byte[] packed) {
            ByteBuffer from = ByteBuffer.wrap(packed);
            return new JournalEntry(text(from), rest(from));
        }
    }

    static byte[] number(int value) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(value).array();
    }

    static byte[] number(long value) {
        return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
    }

    static long number(byte[] packed) {
        return ByteBuffer.wrap(packed).getLong();
    }

    static byte[] sized(String text) {
        return sized(text.getBytes(UTF_8));
    }

    static byte[] sized(byte[] value) {
        return ByteBuffer.allocate(Integer.BYTES + value.length)
                .putInt(value.length)
                .put(value)
                .array();
    }

    static byte[] join(List<byte[]> parts) {
        int length = 0;
        for (byte[] part : parts) {
            length += part.length;
        }
        ByteBuffer all = ByteBuffer.allocate(length);
        parts.forEach(all::put);
        return all.array();
    }

    static String text(ByteBuffer from) {
        return new String(sized(from), UTF_8);
    }

    static int count(ByteBuffer from) {
        int count = from.getInt();
        if (count < 0) {
            throw new IllegalArgumentException("a count of " + count);
        }
        return count;
    }

    static byte[] sized(ByteBuffer from) {
        return take(from, from.getInt());
    }

    private static byte[] rest(ByteBuffer from) {
        return take(from, from.remaining());
    }

    private static byte[] take(ByteBuffer from, int length) {
        if (length < 0 || length > from.remaining()) {
            throw new IllegalArgumentException(
                    "a length of " + length + " where " + from.remaining() + " bytes are left");
        }
        byte[] taken = new byte[length];
        from.get(taken);
        return taken;
    }
}
