package dev.holdfast.servlet.sse;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * SSE frames on their way out: gathered into as few writes as possible, and taken a piece after the other. Long messages are those of the
 * session's history, and are copied a piece at a time: what a slow client has not taken yet is there once, however many connections wait
 * with it.
 */
final class SseFrames {
    static final byte[] NOTHING = {};
    /** The line that tells how long the client waits before it comes back. */
    static final byte[] RETRY = ascii("retry: ");
    /** The line that tells the position of what follows. */
    static final byte[] ID = ascii("id: ");

    private static final byte[] EVENT = ascii("event: message\ndata: ");
    private static final byte[] END = ascii("\n\n");
    private static final int FIRST_SIZE = 256;

    /** A message that is longer is not copied before it is written: a client may be slow to take it. */
    private static final int LONG_BYTES = 256 << 10;

    /** What is complete, in its order, of which the first so many are taken. */
    private List<Part> parts = List.of();

    private int taken;
    private int inParts;
    /** What is gathered after them. */
    private byte[] bytes = NOTHING;

    private int size;

    /** Frames as they are, or a message that goes into one. */
    private static final class Part {
        private final byte[] bytes;
        private final int size;
        private final boolean message;
        private int taken;

        private Part(byte[] bytes, int size, boolean message) {
            this.bytes = bytes;
            this.size = size;
            this.message = message;
        }
    }

    /** How many bytes were added and not taken yet. */
    int size() {
        return inParts + size;
    }

    void add(byte[] more) {
        if (size + more.length > bytes.length) {
            grow(size + more.length);
        }
        put(more);
    }

    /** A line of a name, and of a value in two parts, which are ASCII. */
    void addLine(byte[] name, String start, String rest) {
        int end = size + name.length + start.length() + rest.length() + 1;
        if (end > bytes.length) {
            grow(end);
        }
        put(name);
        for (int i = 0; i < start.length(); i++) {
            bytes[size++] = (byte) start.charAt(i);
        }
        for (int i = 0; i < rest.length(); i++) {
            bytes[size++] = (byte) rest.charAt(i);
        }
        bytes[size++] = '\n';
    }

    /** One event as a frame, with an id if its position is not empty. */
    void addEvent(String session, String position, byte[] json) {
        int id = position.isEmpty() ? 0 : ID.length + session.length() + position.length() + 1;
        int end = size + id + EVENT.length + (json.length > LONG_BYTES ? 0 : json.length) + END.length;
        if (end > bytes.length) {
            grow(end);
        }
        if (id > 0) {
            addLine(ID, session, position);
        }
        put(EVENT);
        addMessage(json);
        add(END);
    }

    /** A message alone, on one line. */
    void addMessage(byte[] json) {
        if (json.length > LONG_BYTES) {
            endPart();
            addPart(new Part(json, json.length, true));
        } else {
            add(json);
            toOneLine(bytes, size - json.length, size);
        }
    }

    /** JSON has raw newlines only as white space: they become spaces. */
    private static void toOneLine(byte[] bytes, int from, int to) {
        for (int i = from; i < to; i++) {
            if (bytes[i] == '\n' || bytes[i] == '\r') {
                bytes[i] = ' ';
            }
        }
    }

    /** Takes everything, as one array. */
    byte[] takeAll() {
        byte[] all = new byte[size()];
        take(all.length).get(all);
        return all;
    }

    /**
     * Takes the next bytes.
     *
     * @param count how many, from 1 to {@link #size}
     */
    ByteBuffer take(int count) {
        if (inParts == 0 && count == size) {
            ByteBuffer all = ByteBuffer.wrap(bytes, 0, size);
            bytes = NOTHING;
            size = 0;
            return all;
        }
        endPart();
        inParts -= count;
        Part first = parts.get(taken);
        ByteBuffer piece;
        if (!first.message && count <= first.size - first.taken) {
            piece = ByteBuffer.wrap(first.bytes, first.taken, count).slice();
            pass(first, count);
        } else {
            byte[] copy = new byte[count];
            for (int at = 0; at < count; ) {
                Part part = parts.get(taken);
                int length = Math.min(part.size - part.taken, count - at);
                System.arraycopy(part.bytes, part.taken, copy, at, length);
                if (part.message) {
                    toOneLine(copy, at, at + length);
                }
                pass(part, length);
                at += length;
            }
            piece = ByteBuffer.wrap(copy);
        }
        if (inParts == 0) {
            parts = List.of();
            taken = 0;
        }
        return piece;
    }

    private void pass(Part part, int count) {
        part.taken += count;
        if (part.taken == part.size) {
            taken++;
        }
    }

    private void endPart() {
        if (size > 0) {
            addPart(new Part(bytes, size, false));
            bytes = NOTHING;
            size = 0;
        }
    }

    private void addPart(Part part) {
        if (parts.isEmpty()) {
            parts = List.of(part);
        } else {
            parts = new ArrayList<>(parts);
            parts.add(part);
        }
        inParts += part.size;
    }

    private void put(byte[] more) {
        System.arraycopy(more, 0, bytes, size, more.length);
        size += more.length;
    }

    /** Makes room for so many bytes. */
    private void grow(int needed) {
        bytes = Arrays.copyOf(bytes, Math.max(needed, Math.max(FIRST_SIZE, 2 * size)));
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
