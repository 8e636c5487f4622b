package dev.holdfast.json;

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
