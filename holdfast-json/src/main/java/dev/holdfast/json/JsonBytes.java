package dev.holdfast.json;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Finds the way through the bytes of a text that is JSON, or nearly. */
final class JsonBytes {
    private static final VarHandle EIGHT_BYTES =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final long NOT_ASCII = 0x8080808080808080L;
    private static final byte[] REPLACEMENT = "\\ufffd".getBytes(StandardCharsets.US_ASCII);
    private static final int ESCAPE = REPLACEMENT.length;

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

    /** The index of the last byte down from there that is no white space; -1 when there is none. */
    static int beforeWhiteSpace(byte[] text, int from) {
        int at = from;
        while (at >= 0 && isWhiteSpace(text[at])) {
            at--;
        }
        return at;
    }

    /** The index of the last such byte down from there; -1 when there is none. */
    static int last(char wanted, byte[] text, int from) {
        int at = from;
        while (at >= 0 && text[at] != wanted) {
            at--;
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

    /** The index of what stands behind the value that begins there, and white space. */
    static int afterValue(byte[] text, int value) {
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

    /**
     * Replaces escapes that are half a character in the names of members: JSON by its grammar, and written by what takes text apart without
     * looking, but refused by the parser. Returns the text with U+FFFD in their place, everything at the place where it was; the text
     * itself where it has none. A name that counts has none, so none becomes another one that counts.
     */
    static byte[] withoutLoneSurrogatesInNames(byte[] text) {
        byte[] replaced = text;
        for (int at = 0; at < text.length; ) {
            if (text[at] != '"') {
                at++;
                continue;
            }
            int end = afterString(text, at);
            int next = afterWhiteSpace(text, end);
            if (next < text.length && text[next] == ':') {
                replaced = withoutLoneSurrogates(replaced, text, at + 1, end - 1);
            }
            at = next;
        }
        return replaced;
    }

    private static byte[] withoutLoneSurrogates(byte[] before, byte[] text, int from, int to) {
        byte[] replaced = before;
        for (int at = from; at < to; ) {
            if (text[at] != '\\') {
                at++;
                continue;
            }
            int unit = escapedUnit(text, at, to);
            if (isPair(unit, escapedUnit(text, at + ESCAPE, to))) {
                at += 2 * ESCAPE;
            } else if (unit >= Character.MIN_SURROGATE && unit <= Character.MAX_SURROGATE) {
                replaced = replaced == text ? text.clone() : replaced;
                System.arraycopy(REPLACEMENT, 0, replaced, at, ESCAPE);
                at += ESCAPE;
            } else {
                at += 2;
            }
        }
        return replaced;
    }

    private static boolean isPair(int high, int low) {
        return high >= 0 && low >= 0 && Character.isSurrogatePair((char) high, (char) low);
    }

    /**
     * The index of the first byte that begins no character of UTF-8, or the array's length when there is none. Overlong forms, encoded
     * surrogates and code points beyond U+10FFFF are no characters.
     */
    static int utf8End(byte[] bytes, int from) {
        int at = from;
        while (at < bytes.length) {
            if (at + Long.BYTES <= bytes.length && ((long) EIGHT_BYTES.get(bytes, at) & NOT_ASCII) == 0) {
                at += Long.BYTES;
                continue;
            }
            int length = bytes[at] >= 0 ? 1 : characterLength(bytes, at);
            if (length == 0) {
                return at;
            }
            at += length;
        }
        return at;
    }

    /** How many bytes the character that begins here has beyond ASCII; 0 when it is none. */
    private static int characterLength(byte[] bytes, int at) {
        int lead = bytes[at] & 0xFF;
        if (lead < 0xC2 || lead > 0xF4) {
            return 0;
        }
        int length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        if (at + length > bytes.length || !secondFits(lead, bytes[at + 1] & 0xFF)) {
            return 0;
        }
        for (int i = 2; i < length; i++) {
            if ((bytes[at + i] & 0xC0) != 0x80) {
                return 0;
            }
        }
        return length;
    }

    private static boolean secondFits(int lead, int second) {
        int lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        int highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        return second >= lowest && second <= highest;
    }
}
