package dev.holdfast.it;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** An interrupt of a handler, its own or that of a cancellation, costs no connection: Tomcat breaks it off where an interrupted thread writes. */
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
    void theNextOneInABatchIsNotInterrupted() throws Exception {
        try (TestServer server = TestServer.in(kind)
                .options(options -> options.immediateExecution(true))
                .syncServer(specification -> specification
                        .immediateExecution(true)
                        .toolCall(Tools.definition("interrupted"), (exchange, request) -> interrupted()))
                .start()) {
            RawSession session = RawSession.open(server.port(), "2025-03-26");
            String batch = "[" + Json.call("1", "interrupted") + "," + Json.call("2", "interrupted") + "]";
            try (RawConnection calls = session.stream(session.post(batch))) {
                assertThat(List.of(calls.message().json(), calls.message().json()))
                        .extracting(
                                answer -> answer.at("/result/content/0/text").asString())
                        .containsExactly("done", "done");
            }
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

    /** Each call is cancelled while its handler, which does nothing else, is likely to write into the stream of the session. */
    @Test
    void aCancellationCutsNoStream() throws Exception {
        CountDownLatch interrupted = new CountDownLatch(100);
        try (TestServer server = TestServer.in(kind)
                        .options(options -> options.sseEndpoint("/sse"))
                        .syncServer(specification -> specification.toolCall(
                                Tools.definition("talking"),
                                (exchange, request) -> talkUntilInterrupted(exchange, request, interrupted)))
                        .start();
                RawSseSession session = RawSseSession.open(server.port())) {
            for (int round = 0; round < 100; round++) {
                String id = "\"talk " + round + "\"";
                session.send(Json.callWithProgress(id, "talking"));
                assertThat(session.receive().at("/method").asString()).isEqualTo("notifications/progress");
                session.send(Json.notification("notifications/cancelled", "{\"requestId\":" + id + "}"));
                String alive = "alive " + round;
                session.send(Json.request("\"" + alive + "\"", "ping", "{}"));
                JsonNode message = session.receive();
                while (!message.has("id")) {
                    message = session.receive();
                }
                assertThat(message.at("/id").asString()).isEqualTo(alive);
            }
            assertThat(interrupted.await(20, SECONDS)).isTrue();
        }
    }

    private static CallToolResult talkUntilInterrupted(
            McpSyncServerExchange exchange, CallToolRequest request, CountDownLatch interrupted) {
        try {
            for (int step = 0; !Thread.currentThread().isInterrupted(); step++) {
                exchange.progressNotification(Tools.progress(request, step));
            }
        } finally {
            interrupted.countDown();
        }
        return Tools.text("interrupted");
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
        boolean before = Thread.currentThread().isInterrupted();
        Thread.currentThread().interrupt();
        return Tools.text(before ? "interrupted before" : "done");
    }
}
