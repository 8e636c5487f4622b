package dev.holdfast.client;

import java.net.http.HttpHeaders;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;

/** Reads {@code Retry-After}: seconds, or a date. */
final class RetryAfter {
    private static final int MOST_DIGITS = 9;

    private RetryAfter() {}

    /** How many milliseconds to wait; 0 if the head does not say. */
    static long millis(HttpHeaders headers, Instant now) {
        String value = headers.firstValue("retry-after").orElse("").strip();
        if (value.isEmpty()) {
            return 0;
        }
        if (value.length() <= MOST_DIGITS && value.chars().allMatch(Character::isDigit)) {
            return Duration.ofSeconds(Long.parseLong(value)).toMillis();
        }
        try {
            Instant date = ZonedDateTime.parse(value, DateTimeFormatter.RFC_1123_DATE_TIME)
                    .toInstant();
            return Math.max(0, Duration.between(now, date).toMillis());
        } catch (DateTimeParseException e) {
            return 0;
        }
    }
}
