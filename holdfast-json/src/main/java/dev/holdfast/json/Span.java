package dev.holdfast.json;

/**
 * A range of bytes in a message, its end excluded. An empty range is a place to insert at.
 *
 * @param from index of the first byte
 * @param to index after the last byte
 */
public record Span(int from, int to) {
    /** The span of what the message does not have. */
    public static final Span NONE = new Span(-1, -1);

    public Span {
        if (from > to || from < -1 || (from == -1 && to != -1)) {
            throw new IllegalArgumentException("not a range of bytes: " + from + " to " + to);
        }
    }

    /** Whether the message has what this is the span of. */
    public boolean present() {
        return from >= 0;
    }

    /** The same bytes, counted from {@code origin} on. */
    Span relativeTo(int origin) {
        return origin == 0 || !present() ? this : new Span(from - origin, to - origin);
    }
}
