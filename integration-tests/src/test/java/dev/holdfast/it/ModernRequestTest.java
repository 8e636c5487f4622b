package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.servlet.Protocols;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Requests of the stateless era where it is not served, answered such that a client that knows both eras falls back to {@code initialize}. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class ModernRequestTest {
    private static final int METHOD_NOT_FOUND = -32601;
    private static final String MODERN = "2026-07-28";

    private static final SharedServer server = new SharedServer();

    ModernRequestTest(ContainerKind kind) {}

    @BeforeParameterizedClassInvocation
    static void start(ContainerKind kind) throws Exception {
        server.start(TestServer.in(kind).edge(edge -> edge.protocols(Protocols.LEGACY)));
    }

    @AfterParameterizedClassInvocation
    static void stop() throws Exception {
        server.stop();
    }

    private static JsonNode assertRefused(RawRequest request, String revision) {
        Refusal refusal = Refusal.of(server.port(), request).assertIs(400, METHOD_NOT_FOUND, "initialize");
        JsonNode data = refusal.json().at("/error/data");
        List<String> supported = new ArrayList<>();
        data.at("/supported").forEach(entry -> supported.add(entry.asString()));
        assertThat(supported).contains("2025-11-25", "2025-06-18", "2025-03-26").doesNotContain(MODERN);
        assertThat(data.at("/requested").asString()).isEqualTo(revision);
        return refusal.json().at("/id");
    }

    private static String withMeta(String id, String method, String revision) {
        return Json.request(
                id, method, "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" + revision + "\"}}");
    }

    @Test
    void rustSdk1088_theProbeOfADualEraClientIsAnsweredSoThatItFallsBack() {
        RawRequest probe = RawRequest.post(withMeta("\"probe-1\"", "server/discover", MODERN))
                .with("MCP-Protocol-Version", MODERN)
                .with("Mcp-Method", "server/discover");

        assertThat(assertRefused(probe, MODERN).asString()).isEqualTo("probe-1");
        RawSession.open(server.port()).assertAlive();
    }

    @ParameterizedTest
    @ValueSource(strings = {MODERN, "2026-12-01", "2031-01-01"})
    void theHeaderAloneIsEnough(String revision) {
        RawRequest request =
                RawRequest.post(Json.request("7", "tools/list", "{}")).with("MCP-Protocol-Version", revision);

        assertThat(assertRefused(request, revision).asInt()).isEqualTo(7);
    }

    @Test
    void theBodyAloneIsEnough() {
        RawRequest request = RawRequest.post(withMeta("7", "tools/list", MODERN));

        assertThat(assertRefused(request, MODERN).asInt()).isEqualTo(7);
    }

    @Test
    void whatHasNoIdIsRefusedToo() {
        assertThat(assertRefused(
                                RawRequest.post(Json.notification("notifications/initialized", "{}"))
                                        .with("MCP-Protocol-Version", MODERN),
                                MODERN)
                        .isNull())
                .isTrue();
    }

    @Test
    void theEraIsSeenBeforeAnythingIsSaidOfTheSession() {
        RawRequest request = RawRequest.post(Json.echo("7", "hello"))
                .with("MCP-Protocol-Version", MODERN)
                .with("Mcp-Session-Id", "forged");

        assertRefused(request, MODERN);
        assertRefused(RawRequest.get().with("MCP-Protocol-Version", MODERN), MODERN);
        assertRefused(RawRequest.of("DELETE").with("MCP-Protocol-Version", MODERN), MODERN);
    }

    @Test
    void aModernRequestDoesASessionNoHarm() {
        RawSession session = RawSession.open(server.port());

        assertRefused(session.post(Json.echo("7", "hello")).with("MCP-Protocol-Version", MODERN), MODERN);
        assertRefused(session.post(withMeta("8", "tools/list", MODERN)), MODERN);

        session.assertAlive();
    }

    private static void assertOpens(RawRequest initialize) {
        try (RawConnection connection = RawConnection.open(server.port()).send(initialize)) {
            assertThat(connection.head().status()).isEqualTo(200);
            JsonNode response = Json.parse(connection.body());
            assertThat(response.at("/result/protocolVersion").asString()).isEqualTo(RawSession.NEWEST);
        }
    }

    @Test
    void initializeOfANewerRevisionIsAnsweredWithOurNewest() {
        assertOpens(RawRequest.post(Json.initialize("2030-01-01")));
    }

    @ParameterizedTest
    @ValueSource(strings = {MODERN, "2031-01-01", "1999-01-01", "newest"})
    void initializeNegotiatesItsRevisionInItsBodyWhateverTheHeaderNames(String header) {
        assertOpens(RawRequest.post(Json.initialize(RawSession.NEWEST)).with("MCP-Protocol-Version", header));
        assertOpens(RawRequest.post(Json.initialize(MODERN)).with("MCP-Protocol-Version", header));
    }

    @Test
    void initializeThatClaimsTheModernEraIsServed() {
        String initialize = Json.request(
                "0",
                "initialize",
                "{\"protocolVersion\":\"" + MODERN
                        + "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"test\",\"version\":"
                        + "\"1\"},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" + MODERN + "\"}}");

        assertOpens(RawRequest.post(initialize).with("MCP-Protocol-Version", MODERN));
    }
}
