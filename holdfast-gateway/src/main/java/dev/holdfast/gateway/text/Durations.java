package dev.holdfast.gateway.text;

import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations as people write them: {@code 500ms}, {@code 15s}, {@code 30m}, {@code 2h}, {@code 0}. */
public final class Durations {
    private static final Pattern WRITTEN = Pattern.compile("(\\d{1,9})(ms|s|m|h)|0");

    private Durations() {}

    /** Reads a duration; empty if the text is none. */
    public static Optional<Duration> parse(String text) {
        Matcher matcher = WRITTEN.matcher(text.toLowerCase(Locale.ROOT));
        if (!matcher.matches()) {
            return Optional.empty();
        }
        if (matcher.group(1) == null) {
            return Optional.of(Duration.ZERO);
        }
        long count = Long.parseLong(matcher.group(1));
        return Optional.of(
                switch (matcher.group(2)) {
                    case "ms" -> Duration.ofMillis(count);
                    case "s" -> Duration.ofSeconds(count);
                    case "m" -> Duration.ofMinutes(count);
                    default -> Duration.ofHours(count);
                });
    }

    /** Writes a duration in the largest unit that holds it whole; nothing below a millisecond. */
    public static String text(Duration duration) {
        long millis = duration.toMillis();
        if (millis % 1000 != 0) {
            return millis + "ms";
        }
        long seconds = millis / 1000;
        if (seconds % 60 != 0 || seconds == 0) {
            return seconds == 0 ? "0" : seconds + "s";
        }
        return seconds % 3600 != 0 ? seconds / 60 + "m" : seconds / 3600 + "h";
    }
}
