package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/** A handler pings its client, and goes on when the answer comes, however late and by whatever way. */
@Tag("sdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class PingTest {
    private final ContainerKind kind;
    private final CompletableFuture<Void> mayAsk = new CompletableFuture<>();
    private TestServer server;

    PingTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .options(options -> options.sseEndpoint("/sse").heartbeatInterval(Duration.ofMillis(100)))
                .tool(
                        "ping",
                        (exchange, request) -> Mono.fromFuture(mayAsk, true)
                                .then(Mono.defer(exchange::ping))
                                .thenReturn("answered"))
                .start();
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    @Test
    void anAnswerAfterSomeHeartbeatsIsTaken() {
        try (RawSseSession session = RawSseSession.open(server.port())) {
            mayAsk.complete(null);
            session.send(Json.call("7", "ping"));
            String answer = answer(session.receive());
            // each proves that the client has what came before
            for (int beat = 0; beat < 4; beat++) {
                assertThat(session.stream().chunk()).isEqualTo(":");
                assertThat(session.stream().chunk()).isEqualTo("\n");
            }

            session.send(answer);

            assertResult(session.receive());
        }
    }

    @Test
    void anAnswerIsTakenThoughTheConnectionOfThePingIsGone() {
        mayAsk.complete(null);
        RawSession session = RawSession.open(server.port());
        RawConnection call = session.stream(session.post(Json.call("7", "ping")));
        Frame ping = call.message();
        call.reset();

        try (RawConnection again = session.stream(session.get(ping.id().orElseThrow()))) {
            assertThat(session.status(session.post(answer(ping.json())))).isEqualTo(202);
            assertResult(again.message().json());
        }
    }

    @Test
    void aPingThatIsSentWhileNothingIsConnectedWaitsForTheClient() {
        RawSession session = RawSession.open(server.port());
        RawConnection call = session.stream(session.post(Json.call("7", "ping")));
        String position = call.frame().orElseThrow().id().orElseThrow();
        call.reset();
        await().until(() -> server.holdfast().openConnections() == 0);
        mayAsk.complete(null);
        session.assertAlive();

        try (RawConnection again = session.stream(session.get(position))) {
            String answer = answer(again.message().json());
            assertThat(session.status(session.post(answer))).isEqualTo(202);
            assertResult(again.message().json());
        }
    }

    private static String answer(JsonNode ping) {
        assertThat(ping.at("/method").asString()).isEqualTo("ping");
        return Json.answer(ping.at("/id").toString(), "{}");
    }

    private static void assertResult(JsonNode response) {
        assertThat(response.at("/id").asInt()).isEqualTo(7);
        assertThat(response.at("/result/content/0/text").asString()).isEqualTo("answered");
    }
}
