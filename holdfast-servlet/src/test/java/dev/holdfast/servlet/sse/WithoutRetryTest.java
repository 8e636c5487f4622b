package dev.holdfast.servlet.sse;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams to clients that fail on a retry line. */
class WithoutRetryTest {
    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    private static String opening(Framing framing) {
        SseFrames frames = new SseFrames();
        framing.open(frames, 2000, "1.1");
        SseBatch batch = frames.take();
        return StandardCharsets.US_ASCII.decode(batch.next(batch.remaining())).toString();
    }

    @ParameterizedTest
    @ValueSource(strings = {"2025-03-26", "2025-06-18", "2025-11-25"})
    void aJavaClientGetsTheSameStreamWithoutIt(String revision) {
        Framing era = new Era(revision);
        Framing java = WithoutRetry.where("Java-http-client/17.0.15", era);
        assertThat("retry: 2000\n" + opening(java)).isEqualTo(opening(era));
        assertThat(text(java.closing(0))).isEqualTo(":\n\n");
        assertThat(java.tellsPosition()).isEqualTo(era.tellsPosition());
    }

    @ParameterizedTest
    @CsvSource({"'', 'event: endpoint'", "s, 'id: s.1.1'"})
    void soItDoesOverHttpSseWhetherItMayComeBackOrNot(String session, String firstLine) {
        Framing framing = new EndpointFraming("/message?sessionId=s", session);
        Framing java = WithoutRetry.where("Java-http-client/17.0.15", framing);
        assertThat(opening(java))
                .startsWith(firstLine + "\n")
                .endsWith("event: endpoint\ndata: /message?sessionId=s\n\n")
                .doesNotContain("retry");
        assertThat(text(java.closing(0))).isEqualTo(":\n\n");
        assertThat(java.tellsPosition()).isEqualTo(framing.tellsPosition());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "node", "python-httpx/0.28", "Mozilla/5.0"})
    void everyOtherClientIsToldWhenToComeBack(String agent) {
        Framing framing = WithoutRetry.where(agent, new Era("2025-11-25"));
        assertThat(opening(framing)).startsWith("retry: 2000\n");
        assertThat(text(framing.closing(0))).isEqualTo("retry: 0\n\n");
    }
}
