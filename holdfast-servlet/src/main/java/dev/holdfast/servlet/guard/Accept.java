package dev.holdfast.servlet.guard;

import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Which of the two forms of an answer a client takes, as its {@code Accept} header says. A client that says nothing takes anything.
 *
 * @see <a href="https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1">RFC 9110, Accept</a>
 */
public enum Accept {
    BOTH,
    JSON,
    EVENT_STREAM,
    NEITHER;

    static final String JSON_TYPE = "application/json";
    static final String EVENT_STREAM_TYPE = "text/event-stream";

    private static final Pattern ZERO_QUALITY = Pattern.compile("q=0(?:\\.0*+)?+");

    /** What a header says, its values joined by commas; empty where there is none. */
    static Accept of(String header) {
        String ranges = header.isBlank() ? "*/*" : header.toLowerCase(Locale.ROOT);
        boolean json = takes(ranges, JSON_TYPE);
        boolean stream = takes(ranges, EVENT_STREAM_TYPE);
        if (json) {
            return stream ? BOTH : JSON;
        }
        return stream ? EVENT_STREAM : NEITHER;
    }

    /** Whether the range that names a type most precisely takes it. */
    private static boolean takes(String ranges, String type) {
        String family = type.substring(0, type.indexOf('/') + 1) + "*";
        int precision = 0;
        boolean taken = false;
        for (String range : ranges.split(",", -1)) {
            String[] parts = range.split(";", -1);
            String name = parts[0].trim();
            int precise =
                    name.equals(type) ? 3 : name.equals(family) ? 2 : name.equals("*/*") || name.equals("*") ? 1 : 0;
            if (precise > 0 && precise >= precision) {
                taken = wanted(parts) || (taken && precise == precision);
                precision = precise;
            }
        }
        return taken;
    }

    /** Quality zero means that it is not wanted. */
    private static boolean wanted(String[] parts) {
        for (int i = 1; i < parts.length; i++) {
            if (ZERO_QUALITY.matcher(parts[i].trim()).matches()) {
                return false;
            }
        }
        return true;
    }
}
