package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A handler that gives back an interrupt, as it should, has its answer delivered: Tomcat writes nothing for an interrupted thread. */
@Tag("sdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(60)
class InterruptedHandlerTest {
    private final ContainerKind kind;

    InterruptedHandlerTest(ContainerKind kind) {
        this.kind = kind;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void itsAnswerIsDelivered(boolean immediate) throws Exception {
        try (TestServer server = TestServer.in(kind)
                        .options(
                                options -> options.immediateExecution(immediate).sseEndpoint("/sse"))
                        .syncServer(specification -> specification
                                .immediateExecution(immediate)
                                .toolCall(Tools.definition("interrupted"), (exchange, request) -> interrupted()))
                        .start();
                RawSseSession old = RawSseSession.connect(server.port())) {
            assertAnswered(RawSession.open(server.port()));
            old.initialize();
            old.send(Json.call("1", "interrupted"));
            assertThat(old.receive().at("/result/content/0/text").asString()).isEqualTo("done");
        }
    }

    @Test
    void theAnswerOfItsClientIsTaken() throws Exception {
        try (TestServer server = TestServer.in(kind)
                .tool(
                        "asking",
                        (exchange, request) -> exchange.ping().map(pong -> {
                            Thread.currentThread().interrupt();
                            return "done";
                        }))
                .start()) {
            RawSession session = RawSession.open(server.port());
            try (RawConnection call = session.stream(session.post(Json.call("1", "asking")))) {
                String id = call.message().json().at("/id").toString();
                assertThat(session.status(session.post("{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":{}}")))
                        .isEqualTo(202);
                assertThat(call.message().json().at("/result/content/0/text").asString())
                        .isEqualTo("done");
            }
        }
    }

    private static void assertAnswered(RawSession session) {
        try (RawConnection call = session.stream(session.post(Json.call("1", "interrupted")))) {
            assertThat(call.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("done");
            assertThat(call.messages()).isEmpty();
            assertThat(call.end()).isEqualTo(RawConnection.End.IN_ORDER);
        }
        session.assertAlive();
    }

    private static CallToolResult interrupted() {
        Thread.currentThread().interrupt();
        return CallToolResult.builder().addTextContent("done").build();
    }
}
