package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Headers that are missing, wrong or forged: each has its status, and the session is unharmed. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class HeadersTest {
    private static final int INVALID_REQUEST = -32600;
    private static final int SESSION_NOT_FOUND = -32001;

    private static final SharedServer server = new SharedServer();

    private final ContainerKind kind;

    HeadersTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeParameterizedClassInvocation
    static void start(ContainerKind kind) throws Exception {
        server.start(TestServer.in(kind));
    }

    @AfterParameterizedClassInvocation
    static void stop() throws Exception {
        server.stop();
    }

    @AfterEach
    void theSessionIsUnharmed() {
        server.session().assertAlive();
    }

    private static Refusal refusal(RawRequest request) {
        return Refusal.of(server.port(), request);
    }

    private static RawRequest echo() {
        return server.session().post(Json.echo("1", "hello"));
    }

    /** Reads it to its answer: the next call has the same id. */
    private void assertServed(RawRequest request) {
        try (RawConnection call = server.session().stream(request)) {
            assertThat(call.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("hello");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "*/*",
                "text/event-stream,application/json",
                "application/*;q=0.5, text/*;q=0.1",
                "Application/JSON; charset=utf-8, TEXT/Event-Stream"
            })
    void aPostThatAcceptsBothTypesIsTaken(String accept) {
        assertServed(echo().with("Accept", accept));
    }

    @ParameterizedTest
    @ValueSource(strings = {"text/plain", "application/jsonp", "application/json; charset=iso-8859-1", "json", ""})
    void aPostOfAnotherTypeIsRefused(String type) {
        refusal(echo().with("Content-Type", type)).assertIs(415, INVALID_REQUEST, "Content-Type");
    }

    @ParameterizedTest
    @ValueSource(strings = {"gzip", "x-GZip", "br, identity", "deflate"})
    void aPostThatIsEncodedIsRefused(String coding) {
        Refusal refusal = refusal(echo().with("Content-Encoding", coding));
        refusal.assertIs(415, INVALID_REQUEST, "Content-Encoding is \"" + coding + "\"");
        assertThat(refusal.head().header("Accept-Encoding")).contains("identity");
    }

    @ParameterizedTest
    @ValueSource(strings = {"identity", "Identity", "identity, identity", ""})
    void aPostThatIsNotEncodedIsTaken(String coding) {
        assertServed(echo().with("Content-Encoding", coding));
    }

    @Test
    void proxiesAreToldToPassStreamsOnAndNotAnswersThatAreWhole() {
        try (RawConnection listening = server.session().send(server.session().get())) {
            RawConnection.Head stream = listening.head();
            assertThat(stream.header("X-Accel-Buffering")).hasValue("no");
            assertThat(stream.header("Cache-Control")).hasValue("no-cache, no-transform");
        }
        // an answer that comes after its head was due is none that is whole
        await().untilAsserted(() -> {
            try (RawConnection call = server.session().send(echo())) {
                RawConnection.Head whole = call.head();
                assertThat(whole.header("X-Accel-Buffering")).isEmpty();
                assertThat(whole.header("Cache-Control")).isEmpty();
            }
        });
    }

    @Test
    void aPostWithoutATypeIsRefused() {
        refusal(echo().without("Content-Type")).assertIs(415, INVALID_REQUEST, "Content-Type");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"application/json;charset=UTF-8", "Application/Json", "application/json; charset=\"utf-8\""})
    void aPostOfJsonIsTaken(String type) {
        assertServed(echo().with("Content-Type", type));
    }

    @ParameterizedTest
    @ValueSource(strings = {"PUT", "PATCH", "OPTIONS", "PROPFIND"})
    void anotherMethodIsRefused(String method) {
        Refusal refusal = refusal(RawRequest.of(method)).assertIs(405, INVALID_REQUEST, "does not take this method");
        assertThat(refusal.head().header("Allow")).hasValue("GET, POST, DELETE");
    }

    @Test
    void aHeadIsRefused() {
        try (RawConnection connection = server.session().send(RawRequest.of("HEAD"))) {
            RawConnection.Head head = connection.head();
            assertThat(head.status()).isEqualTo(405);
            assertThat(head.header("Allow")).hasValue("GET, POST, DELETE");
        }
    }

    @Test
    void aDeleteIsRefusedWhereItIsNotAllowed() throws Exception {
        try (TestServer strict = TestServer.in(kind)
                .options(options -> options.disallowDelete(true))
                .start()) {
            RawSession kept = RawSession.open(strict.port());
            Refusal refusal = Refusal.of(strict.port(), kept.delete())
                    .assertIs(405, INVALID_REQUEST, "does not take this method");
            assertThat(refusal.head().header("Allow")).hasValue("GET, POST");
            kept.assertAlive();
        }
    }

    @Test
    void aRequestWithoutASessionIsRefused() {
        refusal(echo().without("Mcp-Session-Id")).assertIs(400, INVALID_REQUEST, "Mcp-Session-Id");
        refusal(echo().with("Mcp-Session-Id", "")).assertIs(400, INVALID_REQUEST, "Mcp-Session-Id");
        refusal(server.session().get().without("Mcp-Session-Id")).assertIs(400, INVALID_REQUEST, "Mcp-Session-Id");
        refusal(server.session().delete().without("Mcp-Session-Id")).assertIs(400, INVALID_REQUEST, "Mcp-Session-Id");
    }

    @ParameterizedTest
    @ValueSource(strings = {"00000000-0000-0000-0000-000000000000", "x", "../../etc/passwd", "%00", "\u00e9", "*"})
    void aForgedSessionIsNotFound(String id) {
        refusal(echo().with("Mcp-Session-Id", id)).assertIs(404, SESSION_NOT_FOUND, "session not found");
        refusal(server.session().get().with("Mcp-Session-Id", id))
                .assertIs(404, SESSION_NOT_FOUND, "session not found");
        refusal(server.session().delete().with("Mcp-Session-Id", id))
                .assertIs(404, SESSION_NOT_FOUND, "session not found");
    }

    @Test
    void aLongSessionIdIsNotFound() {
        refusal(echo().with("Mcp-Session-Id", "a".repeat(5_000))).assertIs(404, SESSION_NOT_FOUND, "session not found");
    }

    @Test
    void anOriginOfManyLabelsIsRefused() {
        refusal(echo().with("Origin", "http://" + "a.".repeat(3_000))).assertIs(403, INVALID_REQUEST, "Origin");
    }

    @Test
    void anErrorNamesTheRequestItAnswers() {
        RawRequest request =
                server.session().post(Json.echo("\"mine\"", "hello")).without("Mcp-Session-Id");

        assertThat(refusal(request).json().at("/id").asString()).isEqualTo("mine");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1999-01-01", "2025-11-26", "1.0", "newest", "2025-06-18, 2025-06-18"})
    void anUnknownRevisionIsRefused(String revision) {
        refusal(echo().with("MCP-Protocol-Version", revision)).assertIs(400, INVALID_REQUEST, "MCP-Protocol-Version");
        refusal(server.session().get().with("MCP-Protocol-Version", revision))
                .assertIs(400, INVALID_REQUEST, "MCP-Protocol-Version");
        refusal(server.session().delete().with("MCP-Protocol-Version", revision))
                .assertIs(400, INVALID_REQUEST, "MCP-Protocol-Version");
    }

    @Test
    void aRequestThatNamesNoRevisionIsTaken() {
        assertServed(echo().without("MCP-Protocol-Version"));
    }

    @ParameterizedTest
    @CsvSource({"hello", "0", "-1", "0.0.0.0.0.0", "1.99.1.zzzzzz.5", "0.0.1.ZZ.1", "'  '"})
    void aForgedLastEventIdIsRefused(String lastEventId) {
        refusal(server.session().get(lastEventId)).assertIs(400, INVALID_REQUEST, "Last-Event-ID");
    }

    @Test
    void aLastEventIdBeyondTheLogIsRefused() {
        String position;
        try (RawConnection listening = server.session().stream(server.session().get())) {
            position = listening.frame().orElseThrow().id().orElseThrow();
        }
        String beyond = position.substring(0, position.lastIndexOf('.') + 1) + "zz";

        refusal(server.session().get(beyond)).assertIs(400, INVALID_REQUEST, "Last-Event-ID");
    }
}
