package dev.holdfast.json.backend;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Makes what somebody else wrote fit for a log line: short, and without characters that could forge or garble it. */
public final class LogText {
    private static final int SHORT = 200;
    /** More bytes than any {@link #SHORT} characters have in UTF-8. */
    private static final int SHORT_BYTES = 1_024;

    private LogText() {}

    /** The beginning of a text in UTF-8. */
    public static String of(byte[] text) {
        return shortened(whole(text.length <= SHORT_BYTES ? text : Arrays.copyOf(text, SHORT_BYTES)));
    }

    /** The whole text in UTF-8. */
    public static String whole(byte[] text) {
        return new String(text, StandardCharsets.UTF_8).replaceAll("[\\p{Cc}\\p{Cf}\\u2028\\u2029]", " ");
    }

    /** The beginning of a text. */
    public static String shortened(String text) {
        return text.length() <= SHORT ? text : text.substring(0, SHORT) + "...";
    }

    /** The beginning of a session id: the whole id is a credential. */
    public static String shortId(String id) {
        return id.substring(0, Math.min(id.length(), 8));
    }
}
