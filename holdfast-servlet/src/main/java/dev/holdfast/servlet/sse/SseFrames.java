package dev.holdfast.servlet.sse;

import dev.holdfast.spi.Event;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Bytes of SSE frames on their way out, gathered into as few writes as possible. */
final class SseFrames {
    private static final byte[] ID = ascii("id: ");
    private static final byte[] EVENT = ascii("event: message\ndata: ");
    private static final byte[] END = ascii("\n\n");
    private static final byte[] NOTHING = {};
    private static final int FIRST_SIZE = 256;

    private byte[] bytes = NOTHING;
    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    int size() {
        return size;
    }

    void add(byte[] more) {
        room(more.length);
        System.arraycopy(more, 0, bytes, size, more.length);
        size += more.length;
    }

    /** One event as a frame. JSON has raw newlines only as white space: they become spaces. */
    void add(Event event, String id) {
        room(ID.length + id.length() + 1 + EVENT.length + event.bytes().length + END.length);
        put(ID);
        for (int i = 0; i < id.length(); i++) {
            bytes[size++] = (byte) id.charAt(i);
        }
        bytes[size++] = '\n';
        add(event);
    }

    /** One event as a frame without an id. */
    void add(Event event) {
        byte[] json = event.bytes();
        room(EVENT.length + json.length + END.length);
        put(EVENT);
        int from = size;
        put(json);
        for (int i = from; i < size; i++) {
            if (bytes[i] == '\n' || bytes[i] == '\r') {
                bytes[i] = ' ';
            }
        }
        put(END);
    }

    /** Takes what was gathered. */
    ByteBuffer take() {
        ByteBuffer taken = ByteBuffer.wrap(bytes, 0, size);
        bytes = NOTHING;
        size = 0;
        return taken;
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
