package dev.holdfast.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.StreamId;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;

/** Values in Redis as bytes: numbers in binary are big-endian, texts and byte arrays follow their length. */
final class Codec {
    static final int EPOCH_BYTES = 2 * Integer.BYTES;
    static final int STREAM_BYTES = Integer.BYTES + Long.BYTES;

    private Codec() {}

    static byte[] epoch(Epoch epoch) {
        return ByteBuffer.allocate(EPOCH_BYTES)
                .putInt(epoch.counter())
                .putInt(epoch.nonce())
                .array();
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

    static String text(ByteBuffer from) {
        return text(sized(from));
    }

    static byte[] sized(ByteBuffer from) {
        return bytes(from, from.getInt());
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

    /** Puts values together. */
    static final class Output {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(64);

        Output add(int number) {
            return rest(packed(number));
        }

        Output add(String text) {
            byte[] utf8 = text(text);
            return add(utf8.length).rest(utf8);
        }

        Output rest(byte[] all) {
            bytes.writeBytes(all);
            return this;
        }

        byte[] pack() {
            return bytes.toByteArray();
        }
    }
}
