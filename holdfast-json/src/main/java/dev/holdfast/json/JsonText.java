package dev.holdfast.json;

import dev.holdfast.spi.RequestId;
import java.util.Arrays;
import java.util.List;

/** The strings of JSON: writes them, and keeps those that most messages have. */
final class JsonText {
    private static final String HEX = "0123456789abcdef";

    /** Each as one string for all messages: a method is kept with its session's journal, and every call would make a copy. */
    private static final String[][] KNOWN_BY_LENGTH = byLength(List.of(
            "2.0",
            "ping",
            "initialize",
            "tools/call",
            "tools/list",
            "prompts/get",
            "prompts/list",
            "resources/read",
            "resources/list",
            "resources/subscribe",
            "resources/unsubscribe",
            "resources/templates/list",
            "completion/complete",
            "logging/setLevel",
            "elicitation/create",
            "sampling/createMessage",
            "roots/list",
            "notifications/initialized",
            "notifications/progress",
            "notifications/message",
            "notifications/cancelled",
            "notifications/roots/list_changed",
            "notifications/tools/list_changed",
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/resources/updated"));

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

    /** These characters as a string, the same one each time where most messages have it. */
    static String known(char[] chars, int from, int length) {
        if (length < KNOWN_BY_LENGTH.length) {
            for (String known : KNOWN_BY_LENGTH[length]) {
                if (isSame(known, chars, from)) {
                    return known;
                }
            }
        }
        return new String(chars, from, length);
    }

    private static boolean isSame(String known, char[] chars, int from) {
        // from the end: many begin alike
        for (int i = known.length() - 1; i >= 0; i--) {
            if (known.charAt(i) != chars[from + i]) {
                return false;
            }
        }
        return true;
    }

    private static String[][] byLength(List<String> texts) {
        int longest = texts.stream().mapToInt(String::length).max().orElseThrow();
        String[][] found = new String[longest + 1][];
        Arrays.setAll(
                found,
                length -> texts.stream().filter(text -> text.length() == length).toArray(String[]::new));
        return found;
    }
}
