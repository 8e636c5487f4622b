package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** Several messages in one POST: in the one revision that has them. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class BatchTest {
    private static final int INVALID_REQUEST = -32600;
    private static final String WITH_BATCHES = "2025-03-26";
    private static final String INITIALIZED = Json.notification("notifications/initialized", "{}");

    private static final SharedServer server = new SharedServer();
    private static CompletableFuture<Void> gate = new CompletableFuture<>();

    BatchTest(ContainerKind kind) {}

    @BeforeParameterizedClassInvocation
    static void start(ContainerKind kind) throws Exception {
        gate = new CompletableFuture<>();
        server.start(TestServer.in(kind)
                .tool(
                        "patient",
                        (exchange, request) -> Mono.fromFuture(gate, true).thenReturn("done")));
    }

    @AfterParameterizedClassInvocation
    static void stop() throws Exception {
        server.stop();
    }

    private static String batch(String... messages) {
        return "[" + String.join(",", messages) + "]";
    }

    @Test
    void aBatchIsAnsweredOnOneStream() {
        RawSession session = RawSession.open(server.port(), WITH_BATCHES);
        String body = batch(Json.echo("1", "one"), INITIALIZED, Json.echo("\"1\"", "two"), Json.echo("3", "three"));
        try (RawConnection connection = session.stream(session.post(body))) {
            List<Frame> answers = connection.messages();
            assertThat(connection.end()).isEqualTo(RawConnection.End.IN_ORDER);
            assertThat(answers)
                    .extracting(
                            frame -> frame.json().at("/id").toString(),
                            frame -> frame.json().at("/result/content/0/text").asString())
                    .containsExactlyInAnyOrder(
                            org.assertj.core.groups.Tuple.tuple("1", "one"),
                            org.assertj.core.groups.Tuple.tuple("\"1\"", "two"),
                            org.assertj.core.groups.Tuple.tuple("3", "three"));
        }
        session.assertAlive();
    }

    @Test
    void aBatchWithoutRequestsIsAccepted() {
        RawSession session = RawSession.open(server.port(), WITH_BATCHES);

        assertThat(session.status(session.post(batch(INITIALIZED, Json.answer("99", "{}")))))
                .isEqualTo(202);
        session.assertAlive();
    }

    @ParameterizedTest
    @ValueSource(strings = {"2025-06-18", "2025-11-25"})
    void anotherRevisionHasNoBatches(String revision) {
        RawSession session = RawSession.open(server.port(), revision);

        Refusal.of(server.port(), session.post(batch(Json.echo("1", "one"))))
                .assertIs(400, INVALID_REQUEST, "has no batches");
        Refusal.of(server.port(), session.post(batch(INITIALIZED))).assertIs(400, INVALID_REQUEST, "has no batches");
        session.assertAlive();
    }

    @Test
    void initializeInABatchIsRefused() {
        RawSession session = RawSession.open(server.port(), WITH_BATCHES);
        String body = batch(Json.echo("1", "one"), Json.initialize(WITH_BATCHES));

        Refusal.of(server.port(), RawRequest.post(body)).assertIs(400, INVALID_REQUEST, "initialize");
        Refusal.of(server.port(), session.post(body)).assertIs(400, INVALID_REQUEST, "initialize");
        session.assertAlive();
    }

    @Test
    void aBatchThatIsTooLargeIsRefused() {
        RawSession session = RawSession.open(server.port(), WITH_BATCHES);
        String body = batch(Collections.nCopies(101, INITIALIZED).toArray(new String[0]));

        Refusal.of(server.port(), session.post(body)).assertIs(400, INVALID_REQUEST, "more than 100 messages");
        session.assertAlive();
    }

    @Test
    void twoRequestsOfOneIdInABatchAreRefused() {
        RawSession session = RawSession.open(server.port(), WITH_BATCHES);
        String body = batch(Json.echo("1", "one"), Json.echo("1", "two"));

        Refusal.of(server.port(), session.post(body)).assertIs(400, INVALID_REQUEST, "id");
        session.assertAlive();
    }

    @Test
    void nothingOfABatchIsDoneThatIsRefused() {
        RawSession session = RawSession.open(server.port(), WITH_BATCHES);
        String cancelled = Json.notification("notifications/cancelled", "{\"requestId\":7}");
        try (RawConnection running = session.stream(session.post(Json.call("7", "patient")))) {
            String body = batch(cancelled, Json.echo("8", "one"), Json.echo("8", "two"));
            Refusal.of(server.port(), session.post(body)).assertIs(400, INVALID_REQUEST, "id");

            gate.complete(null);
            assertThat(running.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("done");
        }
    }

    @Test
    void oneBadMessageSpoilsTheBatch() {
        RawSession session = RawSession.open(server.port(), WITH_BATCHES);
        String body = batch(Json.echo("1", "one"), "{\"jsonrpc\":\"2.0\",\"id\":2}");

        Refusal.of(server.port(), session.post(body)).assertIs(400, INVALID_REQUEST, "message 2 of the batch");
        session.assertAlive();
    }
}
