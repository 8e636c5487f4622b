package dev.holdfast.json;

import java.nio.charset.StandardCharsets;

/**
 * Escapes that are half a character, in the names of members: JSON by its grammar, and written by what takes text apart
 * without looking, but refused by the parser.
 */
final class LoneSurrogates {
    private static final byte[] REPLACEMENT = "\\ufffd".getBytes(StandardCharsets.US_ASCII);
    private static final int ESCAPE = REPLACEMENT.length;

    private LoneSurrogates() {}

    /**
     * Returns the text with U+FFFD in their place, everything at the place where it was; the text itself where it has none. A name
     * that counts has none, so none becomes another one that counts.
     */
    static byte[] replacedInNames(byte[] text) {
        byte[] replaced = text;
        for (int at = 0; at < text.length; ) {
            if (text[at] != '"') {
                at++;
                continue;
            }
            int end = JsonBytes.afterString(text, at);
            int next = JsonBytes.afterWhiteSpace(text, end);
            if (next < text.length && text[next] == ':') {
                replaced = replacedIn(replaced, text, at + 1, end - 1);
            }
            at = next;
        }
        return replaced;
    }

    private static byte[] replacedIn(byte[] before, byte[] text, int from, int to) {
        byte[] replaced = before;
        for (int at = from; at < to; ) {
            if (text[at] != '\\') {
                at++;
                continue;
            }
            int unit = JsonBytes.escapedUnit(text, at, to);
            if (isPair(unit, JsonBytes.escapedUnit(text, at + ESCAPE, to))) {
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
}
