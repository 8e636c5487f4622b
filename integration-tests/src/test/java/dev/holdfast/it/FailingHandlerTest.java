package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.spec.McpError;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/** A handler that fails tells its client what it says itself, and nothing of the code that it is made of. */
@Tag("sdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class FailingHandlerTest {
    private final ContainerKind kind;
    private final LogCapture log = new LogCapture();
    private TestServer server;
    private RawSession session;

    FailingHandlerTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .tool("closed", (exchange, request) -> Mono.error(new IllegalStateException("the shop is closed")))
                .tool("mute", (exchange, request) -> Mono.error(new IllegalStateException()))
                .tool("causes", (exchange, request) -> Mono.error(closed()))
                .tool("broken", (exchange, request) -> Mono.just(String.class.cast((Object) kind)))
                .tool(
                        "missing",
                        (exchange, request) -> Mono.error(McpError.builder(-32002)
                                .message("no such order")
                                .data(Map.of("order", 7))
                                .build()))
                .start();
        session = RawSession.open(server.port());
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
        log.close();
    }

    private JsonNode error(String request) {
        try (RawConnection connection = session.stream(session.post(request))) {
            return connection.message().json().at("/error");
        }
    }

    /** What tells the causes of a failure as its data. */
    private static McpError closed() {
        Throwable failure = new IllegalStateException("the shop is closed", new IOException("no key"));
        return McpError.builder(-32603)
                .message("the shop is closed")
                .data(McpError.aggregateExceptionMessages(failure))
                .build();
    }

    private List<String> complaints() {
        return log.complaints().stream()
                .map(LogCapture.Line::text)
                .filter(line -> line.startsWith("session "))
                .toList();
    }

    @Test
    void ownWordsPassAsTheyAre() {
        assertThat(error(Json.call("2", "missing")).toString())
                .isEqualTo("{\"code\":-32002,\"message\":\"no such order\",\"data\":{\"order\":7}}");
        assertThat(complaints()).isEmpty();
        // mcp-core before 2.1 adds their causes, which stay in the log
        assertThat(error(Json.call("3", "mute")).toString())
                .isEqualTo("{\"code\":-32603,\"message\":\"Internal error\"}");
        assertThat(error(Json.call("1", "closed")).toString())
                .isEqualTo("{\"code\":-32603,\"message\":\"the shop is closed\"}");
    }

    @Test
    void causesStayInTheLog() {
        assertThat(error(Json.call("1", "causes")).toString())
                .isEqualTo("{\"code\":-32603,\"message\":\"the shop is closed\"}");
        assertThat(complaints()).hasSize(1).first().asString().contains("IllegalStateException", "IOException: no key");
    }

    @Test
    void aFaultOfTheHandlerIsAnInternalError() {
        assertThat(error(Json.call("1", "broken")).toString())
                .isEqualTo("{\"code\":-32603,\"message\":\"internal error\"}");
        assertThat(complaints())
                .hasSize(1)
                .first()
                .asString()
                .startsWith("session " + session.id().substring(0, 8) + ": ")
                .contains("ContainerKind")
                .doesNotContain(session.id());
    }

    @Test
    void paramsThatTheSdkCannotReadNameNoClass() {
        List<String> requests = List.of(
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\"}",
                Json.request("2", "logging/setLevel", "{\"level\":{}}"),
                Json.request("3", "logging/setLevel", "{\"level\":[1]}"));
        for (String request : requests) {
            JsonNode error = error(request);

            assertThat(error.at("/code").isInt()).as(request).isTrue();
            assertThat(error.toString())
                    .as(request)
                    .doesNotContain("Exception", "java", "McpSchema", "modelcontextprotocol", "Source", "Cannot");
        }
    }
}
