package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.servlet.Authenticator;
import jakarta.servlet.http.HttpServletRequest;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What a browser is told: pages of allowed origins may ask and read, and no word of it reaches any other. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class CorsTest {
    private static final String PAGE = "https://app.example";
    private static final String TOKEN = "Bearer token";

    private static final SharedPage server = new SharedPage();

    CorsTest(ContainerKind kind) {}

    /** The server of all tests of one container. */
    private static final class SharedPage {
        @SuppressWarnings("NullAway.Init")
        private TestServer server;
    }

    @BeforeParameterizedClassInvocation
    static void start(ContainerKind kind) throws Exception {
        server.server = TestServer.in(kind)
                .edge(options -> options.allowedOrigins(List.of(PAGE)).authenticator(CorsTest::who))
                .options(options -> options.sseEndpoint("/sse"))
                .start();
    }

    @AfterParameterizedClassInvocation
    static void stop() throws Exception {
        server.server.close();
    }

    private static Authenticator.Answer who(HttpServletRequest request) {
        return TOKEN.equals(request.getHeader("Authorization"))
                ? new Authenticator.Known("page")
                : new Authenticator.Stranger();
    }

    private static RawConnection.Head head(RawRequest request) {
        try (RawConnection connection = RawConnection.open(server.server.port()).send(request)) {
            RawConnection.Head head = connection.head();
            assertUncached(head);
            return head;
        }
    }

    /** No cache may give one page's answer to another, nor keep an error. */
    private static void assertUncached(RawConnection.Head head) {
        assertThat(head.header("Vary")).as(head.toString()).hasValue("Origin");
        if (head.header("Content-Type").orElse("").startsWith("application/json")) {
            assertThat(head.header("Cache-Control")).as(head.toString()).hasValue("no-store");
        }
    }

    private static RawRequest preflight(String path, String origin) {
        return RawRequest.of("OPTIONS")
                .to(path)
                .with("Origin", origin)
                .with("Access-Control-Request-Method", "POST")
                .with("Access-Control-Request-Headers", "authorization,content-type,mcp-session-id");
    }

    private static void assertReadable(RawConnection.Head head) {
        assertThat(head.header("Access-Control-Allow-Origin"))
                .as(head.toString())
                .hasValue(PAGE);
        assertThat(head.header("Access-Control-Expose-Headers").orElse(""))
                .contains("Mcp-Session-Id", "WWW-Authenticate", "Retry-After");
    }

    private static void assertSecret(RawConnection.Head head) {
        assertThat(head.headers().keySet())
                .as(head.toString())
                .noneMatch(name -> name.toLowerCase(java.util.Locale.ROOT).startsWith("access-control"));
    }

    @ParameterizedTest
    @CsvSource({"/mcp, 'GET, POST, DELETE'", "/sse, GET", "/message, POST"})
    void aPageOfAnAllowedOriginMayAskWithoutATokenWhatItMayAsk(String path, String methods) {
        RawConnection.Head head = head(preflight(path, PAGE));

        assertThat(head.status()).isEqualTo(204);
        assertReadable(head);
        assertThat(head.header("Access-Control-Allow-Methods")).hasValue(methods);
        assertThat(head.header("Access-Control-Allow-Headers").orElse(""))
                .contains("Content-Type", "Accept", "Authorization", "Mcp-Session-Id", "MCP-Protocol-Version")
                .contains("Last-Event-ID", "Mcp-Method", "Mcp-Name");
        assertThat(head.header("Access-Control-Max-Age")).isPresent();
        assertThat(head.header("Access-Control-Allow-Private-Network")).isEmpty();
        assertThat(head.header("Access-Control-Allow-Credentials")).isEmpty();
        assertThat(head(preflight(path, PAGE).with("Access-Control-Request-Private-Network", "true"))
                        .header("Access-Control-Allow-Private-Network"))
                .hasValue("true");
    }

    private static String allowedHeaders(String asked) {
        return head(preflight("/mcp", PAGE).with("Access-Control-Request-Headers", asked))
                .header("Access-Control-Allow-Headers")
                .orElseThrow();
    }

    @Test
    void aPageOfAnAllowedOriginMaySendHeadersOfItsOwn() {
        assertThat(allowedHeaders("traceparent, x-api-key"))
                .startsWith("Content-Type, ")
                .endsWith(", traceparent, x-api-key");
        assertThat(allowedHeaders("x".repeat(1_024))).endsWith("x".repeat(1_024));
    }

    @Test
    void whatIsNoListOfHeadersIsNotRepeated() {
        for (String odd : List.of("x-api-key; a", "x: y", "\"x\"", "<x>", "x".repeat(1_025), "\u00e9", "")) {
            assertThat(allowedHeaders(odd)).endsWith("Mcp-Name");
        }
    }

    @ParameterizedTest
    @CsvSource({"/mcp", "/sse", "/message"})
    void noOtherPageIsToldAnything(String path) {
        for (String origin :
                List.of("https://evil.example", "null", "https://app.example.evil", "http://app.example")) {
            RawConnection.Head head = head(preflight(path, origin));
            assertThat(head.status()).as(origin).isEqualTo(403);
            assertSecret(head);
            assertSecret(head(RawRequest.get().to(path).with("Origin", origin).with("Authorization", TOKEN)));
        }
        RawConnection.Head rebound = head(preflight(path, PAGE).with("Host", "rebound.example"));
        assertThat(rebound.status()).isEqualTo(403);
        assertSecret(rebound);
    }

    @Test
    void whoIsNoPageIsToldNothing() {
        RawConnection.Head head = head(RawRequest.of("OPTIONS"));

        assertThat(head.status()).isEqualTo(405);
        assertThat(head.header("Allow")).hasValue("GET, POST, DELETE");
        assertSecret(head);
        assertSecret(head(RawRequest.post(Json.initialize(RawSession.NEWEST)).with("Authorization", TOKEN)));
    }

    @Test
    void aPageReadsItsSessionItsStreamsAndItsErrors() {
        RawRequest initialize =
                RawRequest.post(Json.initialize(RawSession.NEWEST)).with("Origin", PAGE);
        RawConnection.Head unknown = head(initialize);
        assertThat(unknown.status()).isEqualTo(401);
        assertReadable(unknown);

        RawConnection.Head opened = head(initialize.with("Authorization", TOKEN));
        assertThat(opened.status()).isEqualTo(200);
        assertReadable(opened);
        String session = opened.header("Mcp-Session-Id").orElseThrow();

        RawRequest echo = RawRequest.post(Json.echo("1", "hello"))
                .with("Origin", PAGE)
                .with("Authorization", TOKEN)
                .with("Mcp-Session-Id", session);
        assertReadable(head(echo));
        assertReadable(head(RawRequest.get()
                .with("Origin", PAGE)
                .with("Authorization", TOKEN)
                .with("Mcp-Session-Id", session)));
        assertReadable(head(RawRequest.get().to("/sse").with("Origin", PAGE).with("Authorization", TOKEN)));
        RawConnection.Head gone = head(echo.with("Mcp-Session-Id", "forged"));
        assertThat(gone.status()).isEqualTo(404);
        assertReadable(gone);
        RawConnection.Head malformed =
                head(RawRequest.post("{").with("Origin", PAGE).with("Authorization", TOKEN));
        assertThat(malformed.status()).isEqualTo(400);
        assertReadable(malformed);
    }
}
