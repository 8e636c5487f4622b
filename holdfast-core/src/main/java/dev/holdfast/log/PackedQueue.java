package dev.holdfast.log;

import java.util.Arrays;

/**
 * Numbers and texts, first in, first out, packed into one array that grows with them: thousands of small records that live for a
 * while are one object to the collector. Who takes something out asks for what was put in, in the same order.
 */
final class PackedQueue {
    private static final int LEAST = 64;
    private static final int SEVEN_BITS = 0x7f;
    private static final int MORE = 0x80;

    private byte[] bytes = new byte[LEAST];
    /** Where the oldest byte is, and where the next goes: both only grow, and the array's length, a power of two, wraps them. */
    private long from;

    private long to;

    int size() {
        return (int) (to - from);
    }

    /** Takes a number that is not negative: seven bits to a byte, the lowest first. */
    void put(long number) {
        long rest = number;
        while (rest > SEVEN_BITS) {
            append((byte) (rest | MORE));
            rest >>>= 7;
        }
        append((byte) rest);
    }

    void put(String text) {
        put(text.length());
        for (int i = 0; i < text.length(); i++) {
            put((long) text.charAt(i));
        }
    }

    private void append(byte one) {
        if (size() == bytes.length) {
            grow();
        }
        bytes[index(to++)] = one;
    }

    private void grow() {
        int start = index(from);
        byte[] larger = Arrays.copyOfRange(bytes, start, start + 2 * bytes.length);
        System.arraycopy(bytes, 0, larger, bytes.length - start, start);
        to = size();
        from = 0;
        bytes = larger;
    }

    private int index(long position) {
        return (int) position & (bytes.length - 1);
    }

    /** Reads from the oldest on. */
    Reader reader() {
        return new Reader();
    }

    /** A place in the queue; of use until something is put in. */
    final class Reader {
        private long at = from;

        private Reader() {}

        boolean atEnd() {
            return at == to;
        }

        long number() {
            long number = 0;
            byte one;
            int shift = 0;
            do {
                one = bytes[index(at++)];
                number |= (long) (one & SEVEN_BITS) << shift;
                shift += 7;
            } while (one < 0);
            return number;
        }

        String text() {
            char[] chars = new char[(int) number()];
            for (int i = 0; i < chars.length; i++) {
                chars[i] = (char) number();
            }
            return new String(chars);
        }

        /** Reads a text that nobody wants. */
        void passText() {
            for (long left = number(); left > 0; left--) {
                number();
            }
        }

        void remove() {
            from = at;
        }
    }
}
