package dev.holdfast.servlet.sse;

import dev.holdfast.spi.Event;
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
    private static final byte[] RETRY = ascii("retry: ");
    private static final byte[] ID = ascii("id: ");
    private static final byte[] EVENT = ascii("event: message\ndata: ");
    private static final byte[] END = ascii("\n\n");
    private static final int FIRST_SIZE = 256;

    /** A message that is longer is not copied before it is written: a client may be slow to take it. */
    private static final int LONG_BYTES = 256 << 10;

    /** What is complete, in its order, of which the first so many are taken. */
    private List<Part> parts = List.of();

    private int taken;
    private int inParts;
    /** What is gathered behind them. */
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

        private int remaining() {
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

    boolean isEmpty() {
        return size() == 0;
    }

    /** How many bytes were added and not taken yet. */
    int size() {
        return inParts + size;
    }

    void add(byte[] more) {
        room(more.length);
        put(more);
    }

    /** How long the client waits before it comes back. */
    void addRetry(long millis) {
        addLine(RETRY, Long.toString(millis));
    }

    /** The position of what follows. */
    void addId(String id) {
        addLine(ID, id);
    }

    private void addLine(byte[] name, String value) {
        room(name.length + value.length() + 1);
        put(name);
        for (int i = 0; i < value.length(); i++) {
            bytes[size++] = (byte) value.charAt(i);
        }
        bytes[size++] = '\n';
    }

    /** One event as a frame. */
    void add(Event event, String id) {
        room(ID.length + id.length() + 1 + roomOf(event));
        addId(id);
        add(event);
    }

    /** One event as a frame without an id. */
    void add(Event event) {
        room(roomOf(event));
        put(EVENT);
        addMessage(event.bytes());
        add(END);
    }

    /** A message alone, on one line. */
    void addMessage(byte[] json) {
        if (json.length > LONG_BYTES) {
            endPart();
            addPart(new Part(json, json.length, true));
        } else {
            room(json.length);
            int from = size;
            put(json);
            toOneLine(bytes, from, size);
        }
    }

    private static int roomOf(Event event) {
        int length = event.bytes().length;
        return EVENT.length + (length > LONG_BYTES ? 0 : length) + END.length;
    }

    /** JSON has raw newlines only as white space: they become spaces. */
    private static void toOneLine(byte[] bytes, int from, int to) {
        for (int i = from; i < to; i++) {
            if (bytes[i] == '\n' || bytes[i] == '\r') {
                bytes[i] = ' ';
            }
        }
    }

    /**
     * Takes the next bytes.
     *
     * @param count how many, from 1 to {@link #size}
     */
    ByteBuffer take(int count) {
        endPart();
        inParts -= count;
        Part first = parts.get(taken);
        ByteBuffer piece;
        if (!first.message && count <= first.remaining()) {
            piece = ByteBuffer.wrap(first.bytes, first.taken, count).slice();
            first.taken += count;
            passTaken();
        } else {
            byte[] copy = new byte[count];
            for (int at = 0; at < count; ) {
                Part part = parts.get(taken);
                int length = Math.min(part.remaining(), count - at);
                part.copy(copy, at, length);
                at += length;
                passTaken();
            }
            piece = ByteBuffer.wrap(copy);
        }
        if (inParts == 0) {
            parts = List.of();
            taken = 0;
        }
        return piece;
    }

    private void passTaken() {
        if (parts.get(taken).remaining() == 0) {
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

    private void room(int more) {
        if (size + more > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(size + more, Math.max(FIRST_SIZE, 2 * size)));
        }
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
