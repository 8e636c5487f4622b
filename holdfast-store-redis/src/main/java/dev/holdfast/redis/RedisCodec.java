package dev.holdfast.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.nio.ByteBuffer;
import java.util.Base64;

/**
 * Names and values in Redis as bytes: numbers in binary are big-endian, texts and byte arrays follow their length.
 *
 * <p>An event is a member of a sorted set:
 *
 * <pre>
 *   stream (12 bytes), offset (8), epoch (8), kind (1), length of the id or -1 (4), id, message
 * </pre>
 *
 * The first byte of an epoch is never 255, so that a range of bytes can name all members of one stream, or of one offset.
 */
final class RedisCodec {
    static final int EPOCH_BYTES = 2 * Integer.BYTES;
    private static final int STREAM_BYTES = Integer.BYTES + Long.BYTES;
    private static final int NO_ID = -1;

    private RedisCodec() {}

    /** The name of a session's record, and of the channel of its hints: the braces put all keys of the session into one slot. */
    static byte[] record(String prefix, SessionKey key) {
        return text(prefix + "{" + digest(key) + "}");
    }

    /** The name of the set of a session's events, from that of its record. */
    static byte[] events(byte[] record) {
        return join(record, text("e"));
    }

    /** The name of a principal's set of sessions. It does not show the principal, and is longer than that of any session. */
    static byte[] principal(String prefix, String principal) {
        return text(prefix + "{principal:" + digest(SessionKey.of("", principal)) + "}");
    }

    private static String digest(SessionKey key) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(session(key));
    }

    static byte[] session(SessionKey key) {
        return ByteBuffer.allocate(4 * Long.BYTES)
                .putLong(key.a())
                .putLong(key.b())
                .putLong(key.c())
                .putLong(key.d())
                .array();
    }

    static SessionKey session(ByteBuffer from) {
        return new SessionKey(from.getLong(), from.getLong(), from.getLong(), from.getLong());
    }

    static byte[] epoch(Epoch epoch) {
        return join(packed(epoch.counter()), packed(epoch.nonce()));
    }

    static Epoch epoch(ByteBuffer from) {
        return new Epoch(from.getInt(), from.getInt());
    }

    static byte[] stream(StreamId stream) {
        return ByteBuffer.allocate(STREAM_BYTES)
                .putInt(stream.epoch())
                .putLong(stream.number())
                .array();
    }

    static StreamId stream(ByteBuffer from) {
        return new StreamId(from.getInt(), from.getLong());
    }

    /** What stands behind stream and offset of an event. */
    static byte[] eventTail(Event event) {
        RequestId id = event.id();
        byte[] token = id == null ? new byte[0] : text(id.token());
        return ByteBuffer.allocate(EPOCH_BYTES + 1 + Integer.BYTES + token.length + event.bytes().length)
                .putInt(event.epoch().counter())
                .putInt(event.epoch().nonce())
                .put(event.kind())
                .putInt(id == null ? NO_ID : token.length)
                .put(token)
                .put(event.bytes())
                .array();
    }

    static Event event(byte[] member) {
        ByteBuffer from = ByteBuffer.wrap(member);
        StreamId stream = stream(from);
        long offset = from.getLong();
        Epoch epoch = epoch(from);
        byte kind = from.get();
        int length = from.getInt();
        RequestId id = length == NO_ID ? null : new RequestId(text(bytes(from, length)));
        return new Event(stream, epoch, offset, kind, id, rest(from));
    }

    static byte[] packed(int number) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
    }

    static byte[] packed(long number) {
        return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
    }

    /** A number in digits, as the scripts read and write it. */
    static byte[] digits(long number) {
        return Long.toString(number).getBytes(US_ASCII);
    }

    static long digits(byte[] text) {
        return Long.parseLong(new String(text, US_ASCII));
    }

    static byte[] text(String text) {
        return text.getBytes(UTF_8);
    }

    static String text(byte[] bytes) {
        return new String(bytes, UTF_8);
    }

    /** A text behind its length. */
    static byte[] sized(String text) {
        byte[] bytes = text(text);
        return join(packed(bytes.length), bytes);
    }

    static String sized(ByteBuffer from) {
        return text(bytes(from, from.getInt()));
    }

    static byte[] join(byte[]... parts) {
        int length = 0;
        for (byte[] part : parts) {
            length += part.length;
        }
        ByteBuffer all = ByteBuffer.allocate(length);
        for (byte[] part : parts) {
            all.put(part);
        }
        return all.array();
    }

    /** The same arguments behind another one. */
    static byte[][] behind(byte[] first, byte[]... others) {
        byte[][] all = new byte[others.length + 1][];
        all[0] = first;
        System.arraycopy(others, 0, all, 1, others.length);
        return all;
    }

    static byte[] rest(ByteBuffer from) {
        return bytes(from, from.remaining());
    }

    private static byte[] bytes(ByteBuffer from, int length) {
        if (length < 0 || length > from.remaining()) {
            throw new IllegalArgumentException(
                    "a length of " + length + " where " + from.remaining() + " bytes are left");
        }
        byte[] bytes = new byte[length];
        from.get(bytes);
        return bytes;
    }
}
