package dev.holdfast.client.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;

/**
 * Reads a stream of server-sent events from bytes, however they are cut. Bounded: an event whose data are longer than allowed ends it, and
 * of any other long line only the beginning is kept. So a comment may have any length; an id, or a time, of that length is none anyway,
 * and a name of that length is not one that anybody knows. For one thread at a time.
 *
 * @see <a href="https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream">HTML, parsing an event stream</a>
 */
public final class SseParser {
    /** How many bytes are kept of a line without data, and how many a line with data may have in addition. */
    private static final int FRAMING = 8_192;

    private static final byte[] BYTE_ORDER_MARK = "\uFEFF".getBytes(UTF_8);
    private static final byte[] DATA = "data:".getBytes(UTF_8);

    private final int most;
    private final Consumer<SseEvent> events;
    /** The beginning of a line whose end has not come. */
    private Buffer line = new Buffer();

    private Buffer data = new Buffer();
    private boolean afterReturn;
    private boolean begun;
    /** Whether the body is no stream of events but one message: some servers send JSON under the wrong type. */
    private boolean bare;

    private boolean hasData;
    private Optional<String> id = Optional.empty();
    private String name = "";
    private OptionalLong retry = OptionalLong.empty();
    private boolean commented;

    /** Bytes that can be read without a copy. */
    private static final class Buffer extends ByteArrayOutputStream {
        private static final int KEPT = 16_384;

        private byte[] bytes() {
            return buf;
        }

        /** An empty one: this, unless it has grown large. */
        private Buffer emptied() {
            reset();
            return buf.length > KEPT ? new Buffer() : this;
        }
    }

    /**
     * A parser at the start of a stream.
     *
     * @param most so many bytes a message may have
     * @param events gets each event that has an id or data, in order
     */
    public SseParser(int most, Consumer<SseEvent> events) {
        this.most = most;
        this.events = events;
    }

    /** A parser of a body that is one message, and no stream of events. */
    static SseParser whole(int most, Consumer<SseEvent> message) {
        SseParser parser = new SseParser(most, message);
        parser.bare = true;
        return parser;
    }

    /** The reconnection time in milliseconds that the stream stated last. */
    OptionalLong retry() {
        return retry;
    }

    /** Whether a comment came since this was asked for the last time. */
    boolean commented() {
        boolean came = commented;
        commented = false;
        return came;
    }

    /** Whether all that was read are whole lines. */
    boolean betweenLines() {
        return line.size() == 0;
    }

    /** How many bytes it keeps of what is not whole yet. */
    int kept() {
        return data.size() + line.size() + name.length();
    }

    /** Takes the next bytes. */
    public void read(ByteBuffer bytes) throws OversizedEventException {
        byte[] part = new byte[bytes.remaining()];
        bytes.get(part);
        // no field of an event begins so
        bare |= !begun && line.size() == 0 && part.length > 0 && part[0] == '{';
        if (bare) {
            append(part, 0, part.length);
            return;
        }
        int from = afterReturn && part.length > 0 && part[0] == '\n' ? 1 : 0;
        afterReturn &= part.length == 0;
        while (from < part.length) {
            int end = from;
            while (end < part.length && part[end] != '\n' && part[end] != '\r') {
                end++;
            }
            if (end == part.length) {
                keep(part, from, end);
                return;
            }
            if (line.size() == 0) {
                line(part, from, end);
            } else {
                keep(part, from, end);
                line(line.bytes(), 0, line.size());
                line = line.emptied();
            }
            from = end + 1;
            if (part[end] == '\r') {
                afterReturn = from == part.length;
                from += !afterReturn && part[from] == '\n' ? 1 : 0;
            }
        }
    }

    /** Keeps what has come of a line. */
    private void keep(byte[] part, int from, int to) throws OversizedEventException {
        int framing = Math.min(to, from + Math.max(0, FRAMING - line.size()));
        line.write(part, from, framing - from);
        if (framing < to && startsWith(DATA, line.bytes(), start(line.bytes(), 0, line.size()), line.size())) {
            if ((long) data.size() + line.size() + to - framing > (long) most + FRAMING) {
                throw new OversizedEventException(most, id);
            }
            line.write(part, framing, to - framing);
        }
    }

    /** Where a line begins: the first one may have a mark before it. */
    private int start(byte[] bytes, int from, int to) {
        return !begun && startsWith(BYTE_ORDER_MARK, bytes, from, to) ? from + BYTE_ORDER_MARK.length : from;
    }

    private static boolean startsWith(byte[] text, byte[] bytes, int from, int to) {
        return to - from >= text.length && Arrays.equals(bytes, from, from + text.length, text, 0, text.length);
    }

    private void line(byte[] bytes, int first, int to) throws OversizedEventException {
        int from = begun ? first : start(bytes, first, to);
        begun = true;
        if (from == to) {
            dispatch();
            return;
        }
        int colon = from;
        while (colon < to && bytes[colon] != ':') {
            colon++;
        }
        if (colon == from) {
            commented = true;
            return;
        }
        int value = Math.min(colon + 1, to);
        value += value < to && bytes[value] == ' ' ? 1 : 0;
        // of a name, or a value that is none, the beginning is enough
        int end = Math.min(to, value + FRAMING);
        switch (new String(bytes, from, Math.min(colon - from, FRAMING), UTF_8)) {
            case "data" -> {
                if (hasData) {
                    data.write('\n');
                }
                hasData = true;
                append(bytes, value, to);
            }
            case "id" -> {
                // the standard ignores one that no header can carry for its NUL; one that is too long for any is
                // ignored too
                String text = new String(bytes, value, end - value, UTF_8);
                id = to - value > SseEvent.LONGEST_ID || text.indexOf('\0') >= 0 ? id : Optional.of(text);
            }
            case "event" -> name = new String(bytes, value, end - value, UTF_8);
            case "retry" -> {
                String digits = new String(bytes, value, end - value, UTF_8);
                retry = digits.matches("[0-9]{1,9}") ? OptionalLong.of(Long.parseLong(digits)) : retry;
            }
            default -> {
                // the standard says to ignore what it does not name
            }
        }
    }

    private void append(byte[] bytes, int from, int to) throws OversizedEventException {
        data.write(bytes, from, to - from);
        if (data.size() > most) {
            throw new OversizedEventException(most, id);
        }
    }

    /**
     * The stream has ended in order: the standard drops an event that is not whole.
     *
     * @return whether the whole stream was one message, which is there now
     */
    public boolean end() {
        if (bare) {
            dispatch();
        }
        return bare;
    }

    private void dispatch() {
        if (id.isPresent() || data.size() > 0) {
            events.accept(new SseEvent(id, name.isEmpty() ? SseEvent.MESSAGE : name, data.toByteArray()));
        }
        id = Optional.empty();
        name = "";
        hasData = false;
        data = data.emptied();
    }
}
