package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Bodies that a filter has read before, and offers again by a stream that takes no listener. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class CachedBodyTest {
    private static final int INVALID_REQUEST = -32600;
    private static final int SESSION_NOT_FOUND = -32001;
    private static final int LIMIT = 64 << 10;

    private final ContainerKind kind;

    CachedBodyTest(ContainerKind kind) {
        this.kind = kind;
    }

    static Stream<RuntimeException> refusals() {
        return Stream.of(new UnsupportedOperationException("by the test"), new IllegalStateException("by the test"));
    }

    private TestServer start(RuntimeException refusal) throws Exception {
        return TestServer.in(kind)
                .filter(new CachedBodyFilter(refusal))
                .options(options -> options.maxRequestSize(LIMIT))
                .start();
    }

    private static RawRequest chunked(RawSession session, String json) {
        String chunks = Integer.toHexString(json.length()) + "\r\n" + json + "\r\n0\r\n\r\n";
        return session.post(chunks.getBytes(UTF_8)).with("Transfer-Encoding", "chunked");
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void theyAreReadOnTheThreadOfTheirRequest(RuntimeException refusal) throws Exception {
        try (TestServer server = start(refusal)) {
            RawSession session = RawSession.open(server.port());

            session.assertAlive();
            try (RawConnection connection = session.stream(chunked(session, Json.echo("1", "hello")))) {
                assertThat(connection
                                .message()
                                .json()
                                .at("/result/content/0/text")
                                .asString())
                        .isEqualTo("hello");
            }
        }
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void whatIsRefusedOfThemIsAnswered(RuntimeException refusal) throws Exception {
        try (LogCapture log = new LogCapture();
                TestServer server = start(refusal)) {
            RawSession session = RawSession.open(server.port());
            String large = Json.echo("1", "x".repeat(LIMIT));

            Refusal.of(server.port(), session.post(large)).assertIs(413, INVALID_REQUEST, "exceeds");
            Refusal.of(server.port(), chunked(session, large)).assertIs(413, INVALID_REQUEST, "exceeds");
            Refusal.of(server.port(), session.post(Json.echo("1", "hello")).with("Mcp-Session-Id", "forged"))
                    .assertIs(404, SESSION_NOT_FOUND, "session not found");
            session.assertAlive();
            assertThat(log.complaints()).isEmpty();
        }
    }
}
