package dev.holdfast.servlet.sse;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams to clients that fail on a retry line, and to others. */
class SseFramingTest {
    private static final String JAVA = "Java-http-client/17.0.15";

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    private static String opening(Framing framing) {
        SseFrames frames = new SseFrames();
        framing.open(frames, 2000, "1.1");
        return StandardCharsets.US_ASCII.decode(frames.take(frames.size())).toString();
    }

    @ParameterizedTest
    @ValueSource(strings = {"2025-03-26", "2025-06-18", "2025-11-25"})
    void aJavaClientGetsTheSameStreamWithoutIt(String revision) {
        Framing era = SseFraming.streamable(revision, "");
        Framing java = SseFraming.streamable(revision, JAVA);
        assertThat("retry: 2000\n" + opening(java)).isEqualTo(opening(era));
        assertThat(text(java.closing(0))).isEqualTo(":\n\n");
        assertThat(java.tellsPosition()).isEqualTo(era.tellsPosition());
    }

    @ParameterizedTest
    @CsvSource({"'', 'event: endpoint'", "s, 'id: s.1.1'"})
    void soItDoesOverHttpSseWhetherItMayComeBackOrNot(String session, String firstLine) {
        Framing framing = SseFraming.httpSse("/message?sessionId=s", session, "");
        Framing java = SseFraming.httpSse("/message?sessionId=s", session, JAVA);
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
        Framing framing = SseFraming.streamable("2025-11-25", agent);
        assertThat(opening(framing)).startsWith("retry: 2000\n");
        assertThat(text(framing.closing(0))).isEqualTo("retry: 0\n\n");
    }
}
