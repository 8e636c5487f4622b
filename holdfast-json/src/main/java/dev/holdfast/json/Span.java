package dev.holdfast.json;

/**
 * A range of bytes in a message.
 *
 * @param from index of the first byte, -1 for the span of what the message does not have
 * @param to index after the last byte
 */
record Span(int from, int to) {
    static final Span NONE = new Span(-1, -1);

    boolean present() {
        return from >= 0;
    }

    int length() {
        return to - from;
    }

    /** The same bytes, counted from {@code origin} on. */
    Span relativeTo(int origin) {
        return origin == 0 || !present() ? this : new Span(from - origin, to - origin);
    }

    /** Where these bytes lie when the bytes of another span were replaced by so many. */
    Span after(Span replaced, int length) {
        int moved = length - replaced.length();
        return from < replaced.to || moved == 0 ? this : new Span(from + moved, to + moved);
    }
}
