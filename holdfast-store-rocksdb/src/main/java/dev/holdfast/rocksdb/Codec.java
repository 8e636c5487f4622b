package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;

/** Writes values: numbers big-endian, texts and bytes after their length. */
final class Packer {
    private ByteBuffer bytes;

    Packer(int expected) {
        bytes = ByteBuffer.allocate(expected);
    }

    private ByteBuffer room(int more) {
        if (bytes.remaining() < more) {
            ByteBuffer larger = ByteBuffer.allocate(Math.max(2 * bytes.capacity(), bytes.position() + more));
            bytes = larger.put(bytes.flip());
        }
        return bytes;
    }

    Packer number(byte value) {
        room(Byte.BYTES).put(value);
        return this;
    }

    Packer number(int value) {
        room(Integer.BYTES).putInt(value);
        return this;
    }

    Packer number(long value) {
        room(Long.BYTES).putLong(value);
        return this;
    }

    Packer text(String value) {
        return sized(value.getBytes(UTF_8));
    }

    Packer sized(byte[] value) {
        return number(value.length).rest(value);
    }

    /** Bytes whose length the reader knows, for they are the last. */
    Packer rest(byte[] value) {
        room(value.length).put(value);
        return this;
    }

    byte[] pack() {
        byte[] packed = new byte[bytes.position()];
        bytes.flip().get(packed);
        return packed;
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
}
