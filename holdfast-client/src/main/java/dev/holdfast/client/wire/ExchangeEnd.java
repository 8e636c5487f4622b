package dev.holdfast.client.wire;

import java.net.http.HttpHeaders;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Locale;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/** How an HTTP exchange ended. */
public sealed interface ExchangeEnd {
    /** The failure without the {@link CompletionException} that a stage puts around it. */
    static Throwable unwrap(Throwable failure) {
        Throwable cause = failure.getCause();
        return failure instanceof CompletionException && cause != null ? cause : failure;
    }

    /** The content codings of a body; empty if it can be read as it is. */
    static String coding(HttpHeaders headers) {
        String coding = String.join(", ", headers.allValues("content-encoding")).strip();
        return coding.equalsIgnoreCase("identity") ? "" : coding;
    }

    /** With an answer that is no stream of events, or that nobody can read; its whole body was read, and is empty if it has a coding. */
    record Answer(int status, HttpHeaders headers, byte[] body) implements ExchangeEnd {
        /** How many characters of a header field are shown. */
        private static final int SHOWN = 80;

        /** Whether the status is 2xx. */
        public boolean good() {
            return status / 100 == 2;
        }

        /** What the body says that it is, in small letters. */
        public String type() {
            return headers.firstValue("content-type").orElse("").toLowerCase(Locale.ROOT);
        }

        /** How many milliseconds {@code Retry-After} says to wait, in seconds or as a date; 0 if it does not. */
        public long retryAfterMillis(Instant now) {
            String value = headers.firstValue("retry-after").orElse("").strip();
            if (value.matches("[0-9]{1,9}")) {
                return TimeUnit.SECONDS.toMillis(Long.parseLong(value));
            }
            try {
                Instant date = ZonedDateTime.parse(value, DateTimeFormatter.RFC_1123_DATE_TIME)
                        .toInstant();
                return Math.max(0, Duration.between(now, date).toMillis());
            } catch (DateTimeParseException e) {
                return 0;
            }
        }

        /** Whether the body says that it is JSON. */
        public boolean json() {
            return type().contains("json");
        }

        /** What came, in a phrase: the head says it, and that is shown up to a bound. */
        public String shown() {
            String coding = coding(headers);
            return "the answer has status " + status
                    + (coding.isEmpty()
                            ? " and the type '" + printable(type()) + "'"
                            : " and the content coding '" + printable(coding)
                                    + "', which cannot be read and was not asked for");
        }

        private static String printable(String text) {
            return text.substring(0, Math.min(text.length(), SHOWN)).replaceAll("[^\\x20-\\x7e]", " ");
        }
    }

    /** The stream of events ended in order: the server closed it. */
    record StreamEnded() implements ExchangeEnd {}

    /** The stream of events broke. */
    record StreamBroken(Throwable cause) implements ExchangeEnd {}

    /**
     * No answer came.
     *
     * @param sent whether the server may have got the request
     */
    record NoAnswer(Throwable cause, boolean sent) implements ExchangeEnd {}
}
