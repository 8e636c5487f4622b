package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord.RunningCall;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** The values in the database as bytes: numbers are big-endian, texts and byte arrays follow their length. */
final class Codec {
    private static final int NO_ID = -1;
    private static final int EVENT_BYTES = 2 * Integer.BYTES + 1 + Integer.BYTES;

    private Codec() {}

    static byte[] event(Event event) {
        RequestId id = event.id();
        byte[] token = id == null ? new byte[0] : id.token().getBytes(UTF_8);
        return new Output(EVENT_BYTES + token.length + event.bytes().length)
                .number(event.epoch().counter())
                .number(event.epoch().nonce())
                .number(event.kind())
                .number(id == null ? NO_ID : token.length)
                .rest(token)
                .rest(event.bytes())
                .pack();
    }

    static Event event(byte[] key, byte[] packed) {
        ByteBuffer from = ByteBuffer.wrap(packed);
        Epoch epoch = new Epoch(from.getInt(), from.getInt());
        byte kind = from.get();
        boolean named = from.getInt(from.position()) != NO_ID;
        RequestId id = named ? new RequestId(text(from)) : null;
        if (!named) {
            from.getInt();
        }
        return new Event(Keys.stream(key), epoch, Keys.offset(key), kind, id, rest(from));
    }

    static byte[] call(RunningCall call) {
        Output packer = new Output(64).number(call.requests().size());
        call.requests().forEach(id -> packer.text(id.token()));
        return packer.sized(call.extension()).pack();
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

    /** A message of the journal, and what it is about. */
    record JournalEntry(String subject, byte[] message) {
        byte[] pack() {
            return new Output(subject.length() + message.length + Integer.BYTES)
                    .text(subject)
                    .rest(message)
                    .pack();
        }

        static JournalEntry unpack(byte[] packed) {
            ByteBuffer from = ByteBuffer.wrap(packed);
            return new JournalEntry(text(from), rest(from));
        }
    }

    static byte[] number(long value) {
        return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
    }

    static long number(byte[] packed) {
        return ByteBuffer.wrap(packed).getLong();
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

    static byte[] rest(ByteBuffer from) {
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

    /** Writes one value, field by field. */
    static final class Output {
        private ByteBuffer bytes;

        Output(int expected) {
            bytes = ByteBuffer.allocate(expected);
        }

        private ByteBuffer room(int more) {
            if (bytes.remaining() < more) {
                ByteBuffer larger = ByteBuffer.allocate(Math.max(2 * bytes.capacity(), bytes.position() + more));
                bytes = larger.put(bytes.flip());
            }
            return bytes;
        }

        Output number(byte value) {
            room(Byte.BYTES).put(value);
            return this;
        }

        Output number(int value) {
            room(Integer.BYTES).putInt(value);
            return this;
        }

        Output number(long value) {
            room(Long.BYTES).putLong(value);
            return this;
        }

        Output text(String value) {
            return sized(value.getBytes(UTF_8));
        }

        Output sized(byte[] value) {
            return number(value.length).rest(value);
        }

        /** Bytes whose length the reader knows, for they are the last. */
        Output rest(byte[] value) {
            room(value.length).put(value);
            return this;
        }

        byte[] pack() {
            byte[] packed = new byte[bytes.position()];
            bytes.flip().get(packed);
            return packed;
        }
    }
}
