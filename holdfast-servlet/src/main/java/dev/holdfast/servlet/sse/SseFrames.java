package dev.holdfast.servlet.sse;

import dev.holdfast.spi.Event;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** SSE frames on their way out, gathered into as few writes as possible. */
final class SseFrames {
    /** In the place of a time: the client is not told one. */
    static final long NO_RETRY = -1;

    private static final byte[] RETRY = ascii("retry: ");
    private static final byte[] ID = ascii("id: ");
    private static final byte[] EVENT = ascii("event: message\ndata: ");
    private static final byte[] END = ascii("\n\n");
    static final byte[] NOTHING = {};
    private static final int FIRST_SIZE = 256;

    /** A message that is longer is not copied before it is written: a client may be slow to take it. */
    private static final int LONG_BYTES = 256 << 10;

    private List<SseBatch.Part> parts = List.of();
    private int inParts;
    private byte[] bytes = NOTHING;
    private int size;

    boolean isEmpty() {
        return size() == 0;
    }

    int size() {
        return inParts + size;
    }

    void add(byte[] more) {
        room(more.length);
        put(more);
    }

    /** How long the client waits before it comes back, unless that is {@link #NO_RETRY}. */
    void addRetry(long millis) {
        if (millis != NO_RETRY) {
            addLine(RETRY, Long.toString(millis));
        }
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

    /** One event as a frame. JSON has raw newlines only as white space: they become spaces. */
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
            addPart(SseBatch.Part.message(json));
        } else {
            room(json.length);
            int from = size;
            put(json);
            SseBatch.toOneLine(bytes, from, size);
        }
    }

    private static int roomOf(Event event) {
        int length = event.bytes().length;
        return EVENT.length + (length > LONG_BYTES ? 0 : length) + END.length;
    }

    /** Takes what was gathered. */
    SseBatch take() {
        endPart();
        SseBatch taken = new SseBatch(parts, inParts);
        parts = List.of();
        inParts = 0;
        return taken;
    }

    private void endPart() {
        if (size > 0) {
            addPart(SseBatch.Part.frames(bytes, size));
            bytes = NOTHING;
            size = 0;
        }
    }

    private void addPart(SseBatch.Part part) {
        if (parts.isEmpty()) {
            parts = List.of(part);
        } else {
            parts = new ArrayList<>(parts);
            parts.add(part);
        }
        inParts += part.remaining();
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
