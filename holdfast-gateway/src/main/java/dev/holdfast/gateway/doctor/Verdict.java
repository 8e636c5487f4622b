package dev.holdfast.gateway.doctor;

import dev.holdfast.json.JsonParts;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What was found by one check.
 *
 * @param check its name, the same in every release
 * @param found what was found, in a sentence
 * @param advice what to do; empty where nothing is to be done
 * @param figures what was measured, by names that tell the unit
 */
record Verdict(Level level, String check, String found, String advice, Map<String, Long> figures) {
    /** How it is. */
    enum Level {
        OK,
        WARNING,
        PROBLEM,
        /** It could not be measured. */
        UNKNOWN;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** What to do about buffers. */
    static final String UNBUFFER = "switch its response buffering off (nginx: proxy_buffering off, or do not ignore"
            + " X-Accel-Buffering; Apache: flushpackets=on)";

    private static final int SECOND = 1000;
    private static final int KILO = 1024;
    /** From here on a figure has no decimals. */
    private static final int LARGE = 10;

    static Verdict ok(String check, String found) {
        return new Verdict(Level.OK, check, found, "", Map.of());
    }

    static Verdict warning(String check, String found, String advice) {
        return new Verdict(Level.WARNING, check, found, advice, Map.of());
    }

    static Verdict problem(String check, String found, String advice) {
        return new Verdict(Level.PROBLEM, check, found, advice, Map.of());
    }

    static Verdict unknown(String check, String why, String advice) {
        return new Verdict(Level.UNKNOWN, check, why, advice, Map.of());
    }

    /** The same with a figure. */
    Verdict with(String name, long figure) {
        Map<String, Long> more = new TreeMap<>(figures);
        more.put(name, figure);
        return new Verdict(level, check, found, advice, more);
    }

    /** A time as people say it. */
    static String text(Duration time) {
        double seconds = time.toMillis() / (double) SECOND;
        return time.toMillis() < SECOND
                ? time.toMillis() + " ms"
                : String.format(Locale.ROOT, seconds < LARGE ? "%.1f s" : "%.0f s", seconds);
    }

    /** A size as people say it. */
    static String text(int bytes) {
        if (bytes < LARGE * KILO) {
            return String.format(Locale.ROOT, "%,d bytes", bytes);
        }
        return bytes < KILO * KILO
                ? bytes / KILO + " KB"
                : String.format(Locale.ROOT, "%.1f MB", bytes / (double) (KILO * KILO));
    }

    String json() {
        String all = figures.entrySet().stream()
                .map(each -> JsonParts.quoted(each.getKey()) + ":" + each.getValue())
                .collect(Collectors.joining(",", "{", "}"));
        return "{\"check\":" + JsonParts.quoted(check) + ",\"level\":\"" + level + "\",\"found\":"
                + JsonParts.quoted(found) + ",\"advice\":" + JsonParts.quoted(advice) + ",\"figures\":" + all + "}";
    }
}
