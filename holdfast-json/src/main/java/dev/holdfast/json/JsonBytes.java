package dev.holdfast.json;

import java.util.Arrays;

/** Finds the way through the bytes of a text that is JSON, or nearly. */
final class JsonBytes {
    private JsonBytes() {}

    static boolean isWhiteSpace(byte b) {
        return b == ' ' || b == '\t' || b == '\n' || b == '\r';
    }

    /** The index of the first byte from there on that is no white space; the array's length when there is none. */
    static int afterWhiteSpace(byte[] text, int from) {
        int at = from;
        while (at < text.length && isWhiteSpace(text[at])) {
            at++;
        }
        return at;
    }

    /** The index behind the string whose opening quote lies there; the array's length when it does not end. */
    static int afterString(byte[] text, int quote) {
        int at = quote + 1;
        while (at < text.length && text[at] != '"') {
            at += text[at] == '\\' ? 2 : 1;
        }
        return Math.min(at + 1, text.length);
    }

    /**
     * Where the value of a member begins in the object whose opening bracket lies there; the array's length where there is no object, or
     * it has no such member. What is spelled with escapes is another name.
     */
    static int valueOf(byte[] text, int object, byte[] name) {
        int at = object < text.length && text[object] == '{' ? object + 1 : text.length;
        while (at < text.length && text[at] != '}') {
            if (text[at] != '"') {
                at++;
                continue;
            }
            int end = afterString(text, at);
            boolean wanted = Arrays.equals(text, at + 1, Math.max(at + 1, end - 1), name, 0, name.length);
            at = afterWhiteSpace(text, Math.min(afterWhiteSpace(text, end) + 1, text.length));
            if (wanted) {
                return at;
            }
            at = afterValue(text, at);
        }
        return text.length;
    }

    /** The index of what stands behind the value that begins there. */
    private static int afterValue(byte[] text, int value) {
        int depth = 0;
        int at = value;
        while (at < text.length) {
            byte b = text[at];
            if (b == '"') {
                at = afterString(text, at);
                continue;
            }
            boolean closes = b == '}' || b == ']';
            if (depth == 0 && (closes || b == ',')) {
                return at;
            }
            depth += b == '{' || b == '[' ? 1 : closes ? -1 : 0;
            at++;
        }
        return at;
    }

    /** The UTF-16 unit that the escape at this place stands for; -1 where none of the form <code>&#92;uXXXX</code> lies before the end. */
    static int escapedUnit(byte[] text, int at, int end) {
        if (at + 6 > end || text[at] != '\\' || text[at + 1] != 'u') {
            return -1;
        }
        int unit = 0;
        for (int i = at + 2; i < at + 6; i++) {
            int digit = Character.digit(text[i], 16);
            if (digit < 0) {
                return -1;
            }
            unit = unit << 4 | digit;
        }
        return unit;
    }
}
