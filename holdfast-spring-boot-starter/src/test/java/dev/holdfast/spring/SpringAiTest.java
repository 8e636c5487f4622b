package dev.holdfast.spring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.mcp.HoldfastTransportProvider;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Base64;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.context.ConfigurableApplicationContext;

/** The starter on the class path of a Spring AI server, and nothing else. */
@Timeout(120)
class SpringAiTest {
    private static ConfigurableApplicationContext application;
    private static int port;

    @BeforeAll
    static void start() {
        application = Applications.start(
                AiApplication.class,
                "--spring.ai.mcp.server.streamable-http.mcp-endpoint=/tools/mcp",
                "--spring.ai.mcp.server.streamable-http.disallow-delete=true",
                "--holdfast.connection.retry-interval=1234ms",
                "--holdfast.sse.enabled=true",
                "--management.endpoints.web.exposure.include=*",
                "--management.endpoint.health.show-details=always");
        port = Applications.port(application);
    }

    @AfterAll
    static void stop() {
        application.close();
    }

    @Test
    void itsTransportIsReplaced() {
        assertThat(application.getBean(McpServerTransportProviderBase.class))
                .isInstanceOf(HoldfastTransportProvider.class);
        assertThat(application.getBeanNamesForType(McpServerTransportProviderBase.class))
                .hasSize(1);
        assertThat(application.containsBean("webMvcStreamableServerRouterFunction"))
                .isFalse();
    }

    @Test
    void aToolIsCalledOnItsRequest() throws Exception {
        Wire client = Wire.open(port, "/tools/mcp");

        assertThat(client.call("greet", "{\"name\":\"you\"}"))
                .contains("hello you, request true")
                .contains("retry: 1234")
                .contains("id: ");
    }

    @Test
    void springAisPropertiesAreKept() throws Exception {
        assertThat(Wire.open(port, "/tools/mcp").delete()).isEqualTo(405);
    }

    @Test
    void httpSseIsServedOnThePathsOfSpringAi() throws Exception {
        try (Stream<String> lines = sse()) {
            assertThat(lines.filter(line -> line.startsWith("data:"))
                            .findFirst()
                            .orElseThrow())
                    .contains("/mcp/message?sessionId=");
        }
    }

    private static Stream<String> sse() throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port + "/sse"))
                .header("Accept", "text/event-stream")
                .build();
        return HttpClient.newHttpClient()
                .send(request, HttpResponse.BodyHandlers.ofLines())
                .body();
    }

    @Test
    void aSessionBelongsToTheUserOfSpringSecurity() throws Exception {
        Wire alice = Wire.open(port, "/tools/mcp", "Authorization", basic("alice"));

        assertThat(alice.call("greet", "{\"name\":\"alice\"}")).contains("hello alice");
        String ping = "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}";
        assertThat(alice.as("Authorization", basic("bob")).post(ping).statusCode())
                .isEqualTo(404);
        assertThat(alice.as().post(ping).statusCode()).isEqualTo(404);
    }

    @Test
    void openLiberty35727_aClientOfJsonIsAnsweredByJson() throws Exception {
        Wire client = Wire.open(port, "/tools/mcp", "Accept", "application/json");

        assertThat(client.call("greet", "{\"name\":\"you\"}"))
                .startsWith("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\"")
                .contains("hello you");
    }

    private static String basic(String user) {
        return "Basic " + Base64.getEncoder().encodeToString((user + ":secret").getBytes(UTF_8));
    }

    @Test
    void theOperatorSeesSessionsAndEndsOne() throws Exception {
        Wire client = Wire.open(port, "/tools/mcp");
        String shortId = client.session().substring(0, 8);

        assertThat(Wire.page(port, "GET", "/actuator/holdfast").body())
                .contains("\"id\":\"" + shortId + "\"")
                .contains("\"revision\":\"2025-11-25\"")
                .containsPattern("\"principal\":\"\",\"ageSeconds\":[0-9]+,\"streams\":0,\"keptBytes\":[0-9]+")
                .contains("\"runningCalls\":0")
                .doesNotContain(client.session());
        assertThat(Wire.page(port, "DELETE", "/actuator/holdfast/" + shortId).statusCode())
                .isEqualTo(204);

        assertThat(client.post("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}")
                        .statusCode())
                .isEqualTo(404);
        assertThat(Wire.page(port, "DELETE", "/actuator/holdfast/" + shortId).statusCode())
                .isEqualTo(404);
    }

    @Test
    void theOperatorHasAPageThatShowsSessionsAndEndsOne() throws Exception {
        Wire client = Wire.open(port, "/tools/mcp");
        String shortId = client.session().substring(0, 8);
        String console = "/actuator/holdfastconsole";

        HttpResponse<String> page = Wire.page(port, "GET", console);
        assertThat(page.headers().firstValue("Content-Type").orElseThrow().replace(" ", ""))
                .isEqualToIgnoringCase("text/html;charset=UTF-8");
        assertThat(page.body())
                .contains("<title>Holdfast console</title>", "script-src 'sha256-")
                .doesNotContain(shortId);
        assertThat(Wire.page(port, "GET", console + "/data?search=" + shortId).body())
                .startsWith("{\"now\":")
                .contains("\"found\":1,", "\"id\":\"" + shortId + "\"", "\"what\":\"opened\"")
                .doesNotContain(client.session());
        assertThat(Wire.page(port, "GET", console + "/data?session=" + shortId).body())
                .contains("\"shown\":[{\"name\":\"0.0\"");
        assertThat(Wire.page(port, "GET", console + "/other").statusCode()).isEqualTo(404);
        assertThat(Wire.page(port, "DELETE", console + "/session?server=&session=" + shortId)
                        .statusCode())
                .isEqualTo(204);

        assertThat(client.post("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}")
                        .statusCode())
                .isEqualTo(404);
    }

    @Test
    void theOperatorSeesNoMoreSessionsThanAskedFor() throws Exception {
        Wire.open(port, "/tools/mcp");
        Wire.open(port, "/tools/mcp");

        assertThat(Wire.page(port, "GET", "/actuator/holdfast?limit=1").body()).containsOnlyOnce("\"ageSeconds\"");
        assertThat(Wire.page(port, "GET", "/actuator/holdfast?limit=10001").statusCode())
                .isEqualTo(400);
    }

    @Test
    void healthTellsOfHoldfast() throws Exception {
        assertThat(Wire.page(port, "GET", "/actuator/health").body())
                .contains("\"holdfast\":{")
                .contains("\"storeSurvives\":\"NOTHING\"", "\"mayWrite\":true")
                .contains("\"status\":\"UP\"");
    }
}
