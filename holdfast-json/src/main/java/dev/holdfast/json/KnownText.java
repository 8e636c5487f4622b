package dev.holdfast.json;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * The texts that most messages have, each as one string for all of them: a method is kept with its session's journal, and every call
 * would make a copy.
 */
final class KnownText {
    private static final String[][] BY_LENGTH = byLength(List.of(
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

    private KnownText() {}

    /** These characters as a string. */
    static String of(char[] chars, int from, int length) {
        if (length < BY_LENGTH.length) {
            for (String known : BY_LENGTH[length]) {
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
        int longest = texts.stream()
                .max(Comparator.comparingInt(String::length))
                .orElseThrow()
                .length();
        String[][] found = new String[longest + 1][];
        Arrays.setAll(
                found,
                length -> texts.stream().filter(text -> text.length() == length).toArray(String[]::new));
        return found;
    }
}
