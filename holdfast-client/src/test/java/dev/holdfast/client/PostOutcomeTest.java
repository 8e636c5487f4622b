package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.wire.ExchangeEnd;
import java.net.http.HttpHeaders;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PostOutcomeTest {
    private static PostOutcome outcome(int status, String body) {
        return PostOutcome.of(
                new ExchangeEnd.Answer(status, headers(""), body.getBytes(UTF_8)), PostOutcome.Session.ID);
    }

    private static HttpHeaders headers(String retryAfter) {
        return HttpHeaders.of(
                retryAfter.isEmpty() ? Map.of() : Map.of("Retry-After", List.of(retryAfter)), (name, value) -> true);
    }

    @Test
    void unavailableServerHasNotExecutedTheMessage() {
        assertThat(outcome(503, "no server is available")).isEqualTo(PostOutcome.LATER);
        assertThat(outcome(429, "")).isEqualTo(PostOutcome.LATER);
    }

    @Test
    void envoyThatLostTheServerUnderTheRequestKnowsNothing() {
        String text = "upstream connect error or disconnect/reset before headers. reset reason: ";

        assertThat(outcome(503, text + "connection termination")).isEqualTo(PostOutcome.UNKNOWN);
        assertThat(outcome(503, text + "connection failure")).isEqualTo(PostOutcome.LATER);
    }

    @Test
    void badGatewayAndItsTimeoutKnowNothing() {
        assertThat(outcome(502, "")).isEqualTo(PostOutcome.UNKNOWN);
        assertThat(outcome(504, "")).isEqualTo(PostOutcome.UNKNOWN);
        assertThat(outcome(408, "")).isEqualTo(PostOutcome.UNKNOWN);
    }

    @Test
    void failureOfTheServerIsAnAnswerInItsOwnWordsOnly() {
        HttpHeaders json = HttpHeaders.of(Map.of("Content-Type", List.of("application/json")), (name, value) -> true);

        assertThat(PostOutcome.of(new ExchangeEnd.Answer(500, json, new byte[0]), PostOutcome.Session.ID))
                .isEqualTo(PostOutcome.REFUSED);
        assertThat(outcome(500, "<html>")).isEqualTo(PostOutcome.FAILED);
    }

    @Test
    void notFoundOutsideASessionIsAWrongAddress() {
        ExchangeEnd.Answer answer = new ExchangeEnd.Answer(404, headers(""), new byte[0]);

        assertThat(PostOutcome.of(answer, PostOutcome.Session.NONE)).isEqualTo(PostOutcome.REFUSED);
        assertThat(PostOutcome.of(answer, PostOutcome.Session.ID)).isEqualTo(PostOutcome.NO_SESSION);
        assertThat(PostOutcome.of(answer, PostOutcome.Session.ADDRESS)).isEqualTo(PostOutcome.NO_SESSION);
    }

    @Test
    void retryAfterIsInSecondsOrADate() {
        Instant now = Instant.parse("2026-11-23T08:00:00Z");
        String date =
                DateTimeFormatter.RFC_1123_DATE_TIME.format(now.plusSeconds(30).atOffset(ZoneOffset.UTC));

        assertThat(retryAfter("120", now)).isEqualTo(Duration.ofMinutes(2).toMillis());
        assertThat(retryAfter(date, now)).isEqualTo(30_000);
        assertThat(retryAfter("Sun, 22 Nov 2026 08:00:00 GMT", now)).isZero();
        assertThat(retryAfter("later", now)).isZero();
        assertThat(retryAfter("", now)).isZero();
    }

    private static long retryAfter(String value, Instant now) {
        return new ExchangeEnd.Answer(503, headers(value), new byte[0]).retryAfterMillis(now);
    }
}
