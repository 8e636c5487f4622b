package dev.holdfast.servlet.sse;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * What a connection writes, a piece after the other. Long messages are those of the session's history, and are copied a piece at a time:
 * what a slow client has not taken yet is there once, however many connections wait with it.
 */
final class SseBatch {
    private final List<Part> parts;
    private int part;
    private int remaining;

    /** Bytes in their order: frames as they are, or a message that goes into one. */
    static final class Part {
        private final byte[] bytes;
        private final int size;
        private final boolean message;
        private int taken;

        private Part(byte[] bytes, int size, boolean message) {
            this.bytes = bytes;
            this.size = size;
            this.message = message;
        }

        static Part frames(byte[] bytes, int size) {
            return new Part(bytes, size, false);
        }

        static Part message(byte[] json) {
            return new Part(json, json.length, true);
        }

        int remaining() {
            return size - taken;
        }

        private void copy(byte[] to, int at, int length) {
            System.arraycopy(bytes, taken, to, at, length);
            if (message) {
                toOneLine(to, at, at + length);
            }
            taken += length;
        }
    }

    SseBatch(List<Part> parts, int size) {
        this.parts = parts;
        this.remaining = size;
    }

    /** JSON has raw newlines only as white space: they become spaces. */
    static void toOneLine(byte[] bytes, int from, int to) {
        for (int i = from; i < to; i++) {
            if (bytes[i] == '\n' || bytes[i] == '\r') {
                bytes[i] = ' ';
            }
        }
    }

    /** How many bytes were not taken yet. */
    int remaining() {
        return remaining;
    }

    /**
     * Takes the next bytes.
     *
     * @param size how many, from 1 to {@link #remaining}
     */
    ByteBuffer next(int size) {
        remaining -= size;
        Part first = parts.get(part);
        if (!first.message && size <= first.remaining()) {
            ByteBuffer piece = ByteBuffer.wrap(first.bytes, first.taken, size).slice();
            first.taken += size;
            passTaken();
            return piece;
        }
        byte[] piece = new byte[size];
        for (int at = 0; at < size; ) {
            int length = Math.min(parts.get(part).remaining(), size - at);
            parts.get(part).copy(piece, at, length);
            at += length;
            passTaken();
        }
        return ByteBuffer.wrap(piece);
    }

    private void passTaken() {
        if (parts.get(part).remaining() == 0) {
            part++;
        }
    }
}
