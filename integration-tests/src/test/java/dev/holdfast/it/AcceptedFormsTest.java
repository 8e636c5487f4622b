package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.spec.McpSchema.ElicitFormRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/** Clients that take one form of answers only: JSON, as Gemini's CLI says, or streams, as ElevenLabs' client does. */
@ParameterizedClass
@CsvSource({"JETTY, false", "JETTY, true", "TOMCAT, false", "TOMCAT, true"})
@Timeout(60)
@Tag("edge")
class AcceptedFormsTest {
    private static final String JSON = "application/json";
    private static final String STREAM = "text/event-stream";
    private static final AtomicInteger ids = new AtomicInteger();

    private static volatile CompletableFuture<String> released = new CompletableFuture<>();
    private static volatile CompletableFuture<Boolean> begun = new CompletableFuture<>();
    private static final SharedServer server = new SharedServer();

    AcceptedFormsTest(ContainerKind kind, boolean immediately) {}

    @BeforeParameterizedClassInvocation
    static void start(ContainerKind kind, boolean immediately) throws Exception {
        server.start(TestServer.in(kind)
                .options(options -> options.immediateExecution(immediately)
                        .sseEndpoint("/sse")
                        .heartbeatInterval(Duration.ofSeconds(3))
                        .maxConnectionAge(Duration.ofSeconds(3)))
                .tool(
                        "progress",
                        (exchange, request) -> Tools.progress(exchange, request, 1)
                                .then(Tools.progress(exchange, request, 2))
                                .thenReturn("done"))
                .tool(
                        "asks",
                        (exchange, request) -> exchange.createElicitation(ElicitFormRequest.builder(
                                                "may I?", Map.of("type", "object", "properties", Map.of()))
                                        .build())
                                .map(answer -> "answered")
                                .onErrorResume(failure -> Mono.just("declined: " + failure.getMessage())))
                .tool("waits", (exchange, request) -> {
                    begun.complete(true);
                    return Mono.fromFuture(released);
                }));
    }

    @AfterParameterizedClassInvocation
    static void stop() throws Exception {
        server.stop();
    }

    @AfterEach
    void release() {
        released.complete("released");
        released = new CompletableFuture<>();
        begun = new CompletableFuture<>();
    }

    private static String id() {
        return Integer.toString(ids.incrementAndGet());
    }

    /** The body of an answer of a type. */
    private static String answer(RawRequest request, String accept, String type) {
        try (RawConnection connection = server.session().send(request.with("Accept", accept))) {
            return answer(connection, type);
        }
    }

    private static String answer(RawConnection connection, String type) {
        RawConnection.Head head = connection.head();
        String body = connection.body();
        assertThat(head.status()).as(body).isEqualTo(200);
        assertThat(head.header("Content-Type")).hasValue(type + ";charset=utf-8");
        assertThat(connection.end()).isEqualTo(RawConnection.End.IN_ORDER);
        return body;
    }

    private static JsonNode json(String request) {
        return Json.parse(answer(server.session().post(request), JSON, JSON));
    }

    private static String text(JsonNode response) {
        return response.at("/result/content/0/text").asString();
    }

    @ParameterizedTest
    @ValueSource(strings = {JSON, "application/*, text/event-stream;q=0", "text/event-stream;q=0, */*"})
    void openLiberty35727_aClientOfJsonIsAnsweredByJson(String accept) {
        JsonNode opened = Json.parse(answer(RawRequest.post(Json.initialize(RawSession.NEWEST)), accept, JSON));
        assertThat(opened.at("/result/protocolVersion").asString()).isEqualTo(RawSession.NEWEST);
        JsonNode called = Json.parse(answer(server.session().post(Json.echo("\"a\"", "hello")), accept, JSON));
        assertThat(called.at("/id").asString()).isEqualTo("a");
        assertThat(text(called)).isEqualTo("hello");
        assertThat(server.session()
                        .status(server.session()
                                .post(Json.notification("notifications/x", "{}"))
                                .with("Accept", accept)))
                .isEqualTo(202);
    }

    @Test
    void anErrorIsAnswered() {
        JsonNode response = json(Json.request(id(), "no/such/method", "{}"));

        assertThat(response.at("/error/code").asInt()).isEqualTo(-32601);
    }

    @Test
    void aLongResponseIsWhole() {
        String text = "x".repeat(700_000);

        assertThat(text(json(Json.echo(id(), text)))).isEqualTo(text);
    }

    @Test
    void whatIsNotTheResponseIsLeftOut() {
        JsonNode response = json(Json.callWithProgress(id(), "progress"));

        assertThat(text(response)).isEqualTo("done");
    }

    @Test
    void aQuestionThatTheClientNeverSeesIsDeclined() {
        JsonNode response = json(Json.call(id(), "asks"));

        assertThat(text(response)).startsWith("declined: ").contains("application/json only");
    }

    @Test
    void aCallThatTakesItsTimeIsAnsweredBehindWhiteSpace() {
        try (RawConnection connection = server.session()
                .send(server.session().post(Json.call(id(), "waits")).with("Accept", JSON))) {
            assertThat(connection.head().header("Content-Type")).hasValue(JSON + ";charset=utf-8");
            StringBuilder body = new StringBuilder();
            while (body.length() < 4) {
                body.append((char) connection.read());
            }
            assertThat(body.toString()).isBlank();
            released.complete("released");
            assertThat(text(Json.parse(body + connection.body()))).isEqualTo("released");
        }
    }

    @Test
    void aCallThatIsCancelledIsAnsweredByAnError() throws Exception {
        String id = id();
        try (RawConnection connection = server.session()
                .send(server.session().post(Json.call(id, "waits")).with("Accept", JSON))) {
            assertThat(begun.get(20, TimeUnit.SECONDS)).isTrue();
            String cancelled = Json.notification("notifications/cancelled", "{\"requestId\":" + id + "}");
            assertThat(server.session().status(server.session().post(cancelled).with("Accept", JSON)))
                    .isEqualTo(202);

            JsonNode response = Json.parse(answer(connection, JSON));
            assertThat(response.at("/id").asString()).isEqualTo(id);
            assertThat(response.at("/error/message").asString()).contains("ended without a response");
        }
    }

    @Test
    void aCallWhoseSessionEndsIsAnsweredByAnError() throws Exception {
        RawSession other = RawSession.open(server.port());
        try (RawConnection connection =
                other.send(other.post(Json.call("1", "waits")).with("Accept", JSON))) {
            assertThat(begun.get(20, TimeUnit.SECONDS)).isTrue();
            assertThat(other.status(other.delete())).isEqualTo(200);

            assertThat(Json.parse(answer(connection, JSON)).at("/error/message").asString())
                    .contains("the session has ended");
        }
    }

    @Test
    void aBatchIsAnsweredByAnArray() {
        RawSession old = RawSession.open(server.port(), "2025-03-26");
        String batch = "[" + Json.echo("1", "one") + "," + Json.notification("notifications/x", "{}") + ","
                + Json.callWithProgress("2", "progress") + "," + Json.request("3", "no/such/method", "{}") + "]";
        try (RawConnection connection = old.send(old.post(batch).with("Accept", JSON))) {
            JsonNode responses = Json.parse(answer(connection, JSON));

            assertThat(responses.isArray()).isTrue();
            assertThat(responses.valueStream().map(each -> each.at("/id").asInt()))
                    .containsExactlyInAnyOrder(1, 2, 3);
        }
    }

    @Test
    void aBatchOfOneRequestIsAnsweredByAnArrayToo() {
        RawSession old = RawSession.open(server.port(), "2025-03-26");
        String batch = "[" + Json.echo("1", "one") + "]";
        try (RawConnection connection = old.send(old.post(batch).with("Accept", JSON))) {
            JsonNode responses = Json.parse(answer(connection, JSON));

            assertThat(responses.isArray()).isTrue();
            assertThat(responses.valueStream().map(each -> each.at("/id").asInt()))
                    .containsExactly(1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {STREAM, "text/*", "application/json;q=0, */*"})
    void honojs1799_aClientOfStreamsIsAnsweredByStreams(String accept) {
        String opened = answer(RawRequest.post(Json.initialize(RawSession.NEWEST)), accept, STREAM);
        assertThat(opened).startsWith("event: message\ndata: {").endsWith("}\n\n");
        assertThat(Json.parse(opened.substring("event: message\ndata: ".length()))
                        .at("/result/protocolVersion")
                        .asString())
                .isEqualTo(RawSession.NEWEST);
        assertThat(answer(server.session().post(Json.echo(id(), "hello")), accept, STREAM))
                .contains("data: {", "hello");
        assertThat(server.session()
                        .status(server.session()
                                .post(Json.notification("notifications/x", "{}"))
                                .with("Accept", accept)))
                .isEqualTo(202);
    }

    @Test
    void honojs1799_aClientThatSaysNothingTakesAnything() {
        for (RawRequest request : List.of(
                server.session().post(Json.echo(id(), "hello")).without("Accept"),
                server.session().post(Json.echo(id(), "hello")).with("Accept", "*/*"),
                server.session().get().without("Accept"),
                server.session().get().with("Accept", ""),
                RawSseSession.get().without("Accept"))) {
            try (RawConnection connection = server.session().send(request)) {
                RawConnection.Head head = connection.head();
                assertThat(head.status()).as(request.toString()).isEqualTo(200);
                assertThat(head.header("Content-Type")).hasValue(STREAM + ";charset=utf-8");
            }
        }
    }

    @Test
    void whatCannotBeServedIsToldWhatToSend() {
        for (RawRequest request : List.of(
                server.session().post(Json.echo(id(), "hello")).with("Accept", "text/html"),
                server.session().post(Json.echo(id(), "hello")).with("Accept", "*/*;q=0"),
                RawRequest.post(Json.initialize(RawSession.NEWEST)).with("Accept", "application/xml"))) {
            Refusal.of(server.port(), request)
                    .assertIs(406, -32600, "must accept application/json or text/event-stream");
        }
        for (RawRequest request : List.of(
                server.session().get().with("Accept", JSON),
                server.session().get().with("Accept", "text/event-stream;q=0, */*"),
                RawSseSession.get().with("Accept", JSON))) {
            Refusal.of(server.port(), request).assertIs(406, -32600, "a GET must accept text/event-stream");
        }
        server.session().assertAlive();
    }
}
