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
final class SseParser {
    /** So much is kept of a line without data, and a line with data may have so much beside it. */
    private static final int FRAMING = 8_192;

    private static final byte[] BYTE_ORDER_MARK = "\uFEFF".getBytes(UTF_8);
    private static final byte[] DATA = "data:".getBytes(UTF_8);

    private final int most;
    private final Consumer<SseEvent> events;
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

    /** Bytes that can be looked at without a copy. */
    private static final class Buffer extends ByteArrayOutputStream {
        private static final int KEPT = 16_384;

        private boolean has(byte[] text, int from) {
            return count >= from + text.length && Arrays.equals(buf, from, from + text.length, text, 0, text.length);
        }

        private int colon(int from) {
            int at = from;
            while (at < count && buf[at] != ':') {
                at++;
            }
            return at;
        }

        /** Where the value of a field begins whose name ends here. */
        private int value(int colon) {
            int at = Math.min(colon + 1, count);
            return at < count && buf[at] == ' ' ? at + 1 : at;
        }

        private void copyTo(Buffer other, int from) {
            other.write(buf, from, count - from);
        }

        private String text(int from, int to) {
            return new String(buf, from, to - from, UTF_8);
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
    SseParser(int most, Consumer<SseEvent> events) {
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

    void read(ByteBuffer bytes) throws OversizedEventException {
        // no field of an event begins so
        bare |= !begun && line.size() == 0 && bytes.hasRemaining() && bytes.get(bytes.position()) == '{';
        if (bare) {
            byte[] part = new byte[bytes.remaining()];
            bytes.get(part);
            data.write(part, 0, part.length);
            requireRoom();
        }
        while (bytes.hasRemaining()) {
            if (afterReturn) {
                afterReturn = false;
                if (bytes.get(bytes.position()) == '\n') {
                    bytes.get();
                    continue;
                }
            }
            take(bytes);
            if (bytes.hasRemaining()) {
                afterReturn = bytes.get() == '\r';
                line();
                line = line.size() == 0 ? line : line.emptied();
            }
        }
    }

    /** Takes what has come of a line, and stops before its end. */
    private void take(ByteBuffer bytes) throws OversizedEventException {
        int end = bytes.position();
        while (end < bytes.limit() && bytes.get(end) != '\n' && bytes.get(end) != '\r') {
            end++;
        }
        int length = end - bytes.position();
        int kept = Math.min(length, Math.max(0, FRAMING - line.size()));
        byte[] part = new byte[kept];
        bytes.get(part);
        line.write(part, 0, kept);
        if (kept < length && line.has(DATA, start())) {
            if ((long) data.size() + line.size() + length - kept > (long) most + FRAMING) {
                throw new OversizedEventException(most, id);
            }
            byte[] rest = new byte[length - kept];
            bytes.get(rest);
            line.write(rest, 0, rest.length);
        }
        bytes.position(end);
    }

    /** Where the line begins that is being read: the first one may have a mark before it. */
    private int start() {
        return !begun && line.has(BYTE_ORDER_MARK, 0) ? BYTE_ORDER_MARK.length : 0;
    }

    private void line() throws OversizedEventException {
        int from = begun ? 0 : start();
        begun = true;
        if (line.size() == from) {
            dispatch();
            return;
        }
        int colon = line.colon(from);
        if (colon == from) {
            commented = true;
            return;
        }
        int value = line.value(colon);
        switch (line.text(from, colon)) {
            case "data" -> {
                if (hasData) {
                    data.write('\n');
                }
                hasData = true;
                line.copyTo(data, value);
                requireRoom();
            }
            case "id" -> id(value);
            case "event" -> name = line.text(value, line.size());
            case "retry" -> retry(line.text(value, line.size()));
            default -> {
                // the standard says to ignore what it does not name
            }
        }
    }

    private void requireRoom() throws OversizedEventException {
        if (data.size() > most) {
            throw new OversizedEventException(most, id);
        }
    }

    /**
     * The stream has ended in order: the standard drops an event that is not whole.
     *
     * @return whether the whole stream was one message, which is there now
     */
    boolean end() {
        if (bare) {
            dispatch();
        }
        return bare;
    }

    /** The standard ignores an id that no header can carry for its NUL; one that is too long for any is ignored too. */
    private void id(int value) {
        if (line.size() - value > SseEvent.LONGEST_ID) {
            return;
        }
        String text = line.text(value, line.size());
        id = text.indexOf('\0') < 0 ? Optional.of(text) : id;
    }

    private void retry(String digits) {
        boolean number = digits.matches("[0-9]{1,9}");
        retry = number ? OptionalLong.of(Long.parseLong(digits)) : retry;
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
