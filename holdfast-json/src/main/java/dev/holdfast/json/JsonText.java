package dev.holdfast.json;

import dev.holdfast.spi.RequestId;

/** Writes the strings of JSON. */
final class JsonText {
    private static final String HEX = "0123456789abcdef";

    private JsonText() {}

    /** The id that is this string. */
    static RequestId id(String value) {
        return new RequestId(quoted(value));
    }

    /** The text as a JSON string, with no more escapes than JSON demands and UTF-8 can carry. */
    static String quoted(String text) {
        return isPlain(text) ? "\"" + text + "\"" : escaped(text);
    }

    private static boolean isPlain(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < ' ' || c == '"' || c == '\\' || Character.isSurrogate(c)) {
                return false;
            }
        }
        return true;
    }

    private static String escaped(String text) {
        StringBuilder out = new StringBuilder(text.length() + 16).append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                control(out, c);
            } else if (!Character.isSurrogate(c)) {
                out.append(c);
            } else if (i + 1 < text.length() && Character.isSurrogatePair(c, text.charAt(i + 1))) {
                out.append(c).append(text.charAt(++i));
            } else {
                escaped(out, c);
            }
        }
        return out.append('"').toString();
    }

    private static void control(StringBuilder out, char c) {
        switch (c) {
            case '\b' -> out.append("\\b");
            case '\t' -> out.append("\\t");
            case '\n' -> out.append("\\n");
            case '\f' -> out.append("\\f");
            case '\r' -> out.append("\\r");
            default -> escaped(out, c);
        }
    }

    private static void escaped(StringBuilder out, char c) {
        out.append("\\u");
        for (int shift = 12; shift >= 0; shift -= 4) {
            out.append(HEX.charAt((c >> shift) & 0xF));
        }
    }
}
