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

class PostVerdictTest {
    private static PostVerdict verdict(int status, String body) {
        return PostVerdict.of(
                new ExchangeEnd.Answer(status, headers(""), body.getBytes(UTF_8)), PostVerdict.Session.ID);
    }

    private static HttpHeaders headers(String retryAfter) {
        return HttpHeaders.of(
                retryAfter.isEmpty() ? Map.of() : Map.of("Retry-After", List.of(retryAfter)), (name, value) -> true);
    }

    @Test
    void unavailableServerHasNotExecutedTheMessage() {
        assertThat(verdict(503, "no server is available")).isEqualTo(new PostVerdict.Later(0));
        assertThat(verdict(429, "")).isEqualTo(new PostVerdict.Later(0));
    }

    @Test
    void envoyThatLostTheServerUnderTheRequestKnowsNothing() {
        String text = "upstream connect error or disconnect/reset before headers. reset reason: ";

        assertThat(verdict(503, text + "connection termination")).isEqualTo(new PostVerdict.Unknown());
        assertThat(verdict(503, text + "connection failure")).isEqualTo(new PostVerdict.Later(0));
    }

    @Test
    void badGatewayAndItsTimeoutKnowNothing() {
        assertThat(verdict(502, "")).isEqualTo(new PostVerdict.Unknown());
        assertThat(verdict(504, "")).isEqualTo(new PostVerdict.Unknown());
        assertThat(verdict(408, "")).isEqualTo(new PostVerdict.Unknown());
    }

    @Test
    void failureOfTheServerIsAnAnswerInItsOwnWordsOnly() {
        HttpHeaders json = HttpHeaders.of(Map.of("Content-Type", List.of("application/json")), (name, value) -> true);

        assertThat(PostVerdict.of(new ExchangeEnd.Answer(500, json, new byte[0]), PostVerdict.Session.ID))
                .isEqualTo(new PostVerdict.Refused());
        assertThat(verdict(500, "<html>")).isEqualTo(new PostVerdict.Failed());
    }

    @Test
    void notFoundOutsideASessionIsAWrongAddress() {
        ExchangeEnd.Answer answer = new ExchangeEnd.Answer(404, headers(""), new byte[0]);

        assertThat(PostVerdict.of(answer, PostVerdict.Session.NONE)).isEqualTo(new PostVerdict.Refused());
        assertThat(PostVerdict.of(answer, PostVerdict.Session.ID)).isEqualTo(new PostVerdict.NoSession());
        assertThat(PostVerdict.of(answer, PostVerdict.Session.ADDRESS)).isEqualTo(new PostVerdict.NoSession());
    }

    @Test
    void retryAfterIsInSecondsOrADate() {
        Instant now = Instant.parse("2026-11-23T08:00:00Z");
        String date =
                DateTimeFormatter.RFC_1123_DATE_TIME.format(now.plusSeconds(30).atOffset(ZoneOffset.UTC));

        assertThat(RetryAfter.millis(headers("120"), now))
                .isEqualTo(Duration.ofMinutes(2).toMillis());
        assertThat(RetryAfter.millis(headers(date), now)).isEqualTo(30_000);
        assertThat(RetryAfter.millis(headers("Sun, 22 Nov 2026 08:00:00 GMT"), now))
                .isZero();
        assertThat(RetryAfter.millis(headers("later"), now)).isZero();
    }
}
