package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.mcp.HoldfastTransportProviderBuilder;
import io.modelcontextprotocol.spec.McpSchema.ElicitFormRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/** HTTP+SSE is a second face of the same server: the same guards, and sessions of its own. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class HttpSseProtocolTest {
    private static final int PARSE_ERROR = -32700;
    private static final int INVALID_REQUEST = -32600;
    private static final int SESSION_NOT_FOUND = -32001;

    private final ContainerKind kind;
    private final CompletableFuture<String> gate = new CompletableFuture<>();
    private final AtomicInteger running = new AtomicInteger();
    private TestServer server;

    HttpSseProtocolTest(ContainerKind kind) {
        this.kind = kind;
    }

    private TestServer.Builder server() {
        return TestServer.in(kind).options(options -> options.sseEndpoint("/sse"));
    }

    @BeforeEach
    void start() throws Exception {
        server = server().filter(new UserFilter())
                .tool(
                        "slow",
                        (exchange, request) ->
                                Mono.fromFuture(gate, true).doOnSubscribe(subscription -> running.incrementAndGet()))
                .tool("ask", (exchange, request) -> {
                    Map<String, Object> form =
                            Map.of("type", "object", "properties", Map.of("answer", Map.of("type", "string")));
                    return exchange.createElicitation(ElicitFormRequest.builder("What is it?", form)
                                    .build())
                            .map(result -> String.valueOf(result.content().get("answer")));
                })
                .tool(
                        "steps",
                        (exchange, request) -> Tools.progress(exchange, request, 1)
                                .then(Tools.progress(exchange, request, 2))
                                .thenReturn("done"))
                .start();
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    private static boolean keepsItsConnection(TestServer server, RawSseSession session) {
        try (RawConnection quick =
                RawConnection.open(server.port()).send(session.post(Json.call("\"quick\"", "quick")))) {
            RawConnection.Head head = quick.head();
            assertThat(head.status()).isEqualTo(202);
            session.receive();
            return head.header("Connection").isEmpty();
        }
    }

    private RawSseSession open() {
        return RawSseSession.open(server.port());
    }

    private Refusal refusal(RawRequest request) {
        return Refusal.of(server.port(), request);
    }

    private static RawRequest echo(RawSseSession session) {
        return session.post(Json.echo("1", "hello"));
    }

    @Test
    void oneServerServesBothKindsOfClients() {
        RawSession streamable = RawSession.open(server.port());
        try (RawSseSession sse = open();
                RawConnection listening = streamable.stream(streamable.get())) {
            streamable.assertAlive();
            sse.assertAlive();

            server.log("news");

            assertThat(listening.message().json().at("/params/data").asString()).isEqualTo("news");
            assertThat(sse.receive().at("/params/data").asString()).isEqualTo("news");
            assertThat(server.holdfast().engine().size()).isEqualTo(2);
        }
    }

    @Test
    void theIdOfOneFaceIsNotFoundByTheOther() {
        RawSession streamable = RawSession.open(server.port());
        try (RawSseSession sse = open()) {
            for (RawRequest request :
                    List.of(RawRequest.post(Json.echo("1", "hello")), RawRequest.get(), RawRequest.of("DELETE"))) {
                refusal(request.with("Mcp-Session-Id", sse.id())).assertIs(404, SESSION_NOT_FOUND, "session not found");
            }
            refusal(echo(sse).to("/message?sessionId=" + streamable.id()))
                    .assertIs(404, SESSION_NOT_FOUND, "session not found");

            sse.assertAlive();
            streamable.assertAlive();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "/sse, POST, GET",
        "/sse, PUT, GET",
        "/sse, DELETE, GET",
        "/message, GET, POST",
        "/message, PUT, POST",
        "/message, DELETE, POST"
    })
    void anotherMethodIsRefused(String path, String method, String allowed) {
        Refusal refusal = refusal(
                        RawRequest.of(method).to(path).with("Accept", "*/*").with("Content-Type", "application/json"))
                .assertIs(405, INVALID_REQUEST, "does not take this method");

        assertThat(refusal.head().header("Allow")).hasValue(allowed);
        assertThat(server.holdfast().engine().size()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"/message", "/message?sessionId=", "/message?session_id=x"})
    void aPostWithoutASessionIsRefused(String target) {
        refusal(RawRequest.post(Json.echo("1", "hello")).to(target)).assertIs(400, INVALID_REQUEST, "sessionId");
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "00000000-0000-0000-0000-000000000000", "..%2F..%2Fetc", "%00"})
    void aForgedSessionIsNotFound(String id) {
        Refusal refusal = refusal(
                        RawRequest.post(Json.echo("\"mine\"", "hello")).to("/message?sessionId=" + id))
                .assertIs(404, SESSION_NOT_FOUND, "session not found");

        assertThat(refusal.json().at("/id").isNull()).as("nobody has read it").isTrue();
    }

    @Test
    void aBadBodyIsRefused() {
        try (RawSseSession session = open()) {
            refusal(session.post("{\"jsonrpc\":")).assertIs(400, PARSE_ERROR, "");
            refusal(session.post("")).assertIs(400, PARSE_ERROR, "");
            refusal(session.post("{\"jsonrpc\":\"2.0\",\"id\":1}")).assertIs(400, INVALID_REQUEST, "");
            refusal(echo(session).with("Content-Type", "text/plain")).assertIs(415, INVALID_REQUEST, "Content-Type");
            refusal(echo(session).with("Content-Encoding", "gzip")).assertIs(415, INVALID_REQUEST, "\"gzip\"");
            session.assertAlive();
        }
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"text/event-stream", "*/*", ""})
    void aGetNeedNotSayWhatItAccepts(@Nullable String accepted) {
        RawRequest get = RawSseSession.get();
        RawRequest told = accepted == null ? get.without("Accept") : get.with("Accept", accepted);
        try (RawSseSession session = RawSseSession.connect(server.port(), told)) {
            session.initialize().assertAlive();
        }
    }

    @Test
    void aGetMustAcceptAStreamIfItSaysWhatItAccepts() {
        refusal(RawSseSession.get().with("Accept", "application/json"))
                .assertIs(406, INVALID_REQUEST, "must accept text/event-stream");
    }

    @ParameterizedTest
    @CsvSource({"Host, evil.example", "Origin, http://evil.example", "Origin, null"})
    void aForeignCallerIsRefused(String header, String value) {
        try (LogCapture log = new LogCapture();
                RawSseSession session = open()) {
            refusal(RawSseSession.get().with(header, value)).assertIs(403, INVALID_REQUEST, header);
            refusal(echo(session).with(header, value)).assertIs(403, INVALID_REQUEST, header);

            assertThat(log.complaints()).isEmpty();
            assertThat(server.holdfast().engine().size()).isEqualTo(1);
            session.assertAlive();
        }
    }

    @Test
    void anAnswerWhoseSessionEndsWhileItIsOnItsWayIsNotTaken() {
        RawSseSession session = open();
        String answer = Json.answer("\"nobody asked\"", "{}");
        RawRequest begun =
                session.post(answer.substring(0, 10)).with("Content-Length", Integer.toString(answer.length()));
        try (RawConnection post = RawConnection.open(server.port()).send(begun)) {
            // found by its head by now, or not at all
            server.log("news");
            session.receive();
            session.stream().reset();
            server.log("news that cannot be written");
            await().until(() -> server.holdfast().engine().size() == 0);

            post.write(answer.substring(10).getBytes(UTF_8));

            Refusal.of(post).assertIs(404, SESSION_NOT_FOUND, "session");
        }
    }

    @Test
    void noBrowserTellsOthersTheAddress() {
        try (RawSseSession session = open();
                RawConnection posted = RawConnection.open(server.port()).send(echo(session))) {
            RawConnection.Head taken = posted.head();
            assertThat(taken.status()).isEqualTo(202);
            for (RawConnection.Head head : List.of(
                    session.head(),
                    taken,
                    refusal(session.post("{")).head(),
                    refusal(echo(session).with("Origin", "null")).head())) {
                assertThat(head.header("Referrer-Policy")).as(head.toString()).hasValue("no-referrer");
            }
        }
    }

    @Test
    void theEndpointIsRelativeToTheServer() {
        try (RawSseSession session = open()) {
            assertThat(session.endpoint()).matches("/message\\?sessionId=[A-Za-z0-9_-]{20,}");
            assertThat(session.opening().id()).isEmpty();
            assertThat(session.opening().retry()).isEmpty();
        }
    }

    @Test
    void theEndpointHasThePrefixThatTheClientUsed() {
        try (RawSseSession session = RawSseSession.connect(
                        server.port(), RawSseSession.get().to("/tools/v1/sse"))
                .initialize()) {
            assertThat(session.endpoint()).startsWith("/tools/v1/message?sessionId=");
            session.assertAlive();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "/proxy, /proxy/message?",
        "/proxy/deep-er_1.0~, /proxy/deep-er_1.0~/message?",
        "'', /message?",
        "/, /message?",
        "/proxy/, /message?",
        "//evil.example, /message?",
        "https://evil.example, /message?",
        "/a b, /message?",
        "/a?b, /message?",
        "proxy, /message?"
    })
    void theEndpointHasThePrefixOfAProxy(String prefix, String start) {
        try (RawSseSession session =
                RawSseSession.connect(server.port(), RawSseSession.get().with("X-Forwarded-Prefix", prefix))) {
            assertThat(session.endpoint()).startsWith(start);
        }
    }

    @Test
    void aPrefixOfManyPartsIsNone() {
        RawRequest get = RawSseSession.get().with("X-Forwarded-Prefix", "/a".repeat(3_000));
        try (RawSseSession session = RawSseSession.connect(server.port(), get)) {
            assertThat(session.endpoint()).startsWith("/message?");
        }
    }

    @Test
    void theEndpointHasTheBaseThatIsConfigured() throws Exception {
        try (TestServer based = TestServer.in(kind)
                        .options(options -> options.sseEndpoint("/events")
                                .messageEndpoint("/in/box")
                                .baseUrl("https://mcp.example/base/app"))
                        .start();
                RawSseSession session = RawSseSession.connect(
                        based.port(), RawSseSession.get().to("/app/events").with("X-Forwarded-Prefix", "/proxy"))) {
            assertThat(session.endpoint()).startsWith("https://mcp.example/base/app/in/box?sessionId=");
            RawRequest initialize = RawRequest.post(Json.initialize(RawSseSession.REVISION))
                    .to("/app/in/box?sessionId=" + session.id());
            assertThat(session.status(initialize)).isEqualTo(202);
            assertThat(session.receive().has("result")).isTrue();
        }
    }

    @Test
    void whatIsNotServedIsNotFound() throws Exception {
        try (TestServer plain = TestServer.in(kind).start();
                RawConnection connection = RawConnection.open(plain.port()).send(RawSseSession.get())) {
            assertThat(connection.head().status()).isEqualTo(404);
        }
    }

    @Test
    void aRequestBeforeInitializeGetsAnErrorOnTheStream() {
        try (RawSseSession session = RawSseSession.connect(server.port())) {
            session.send(Json.echo("7", "hello"));

            JsonNode response = session.receive();
            assertThat(response.at("/id").asInt()).isEqualTo(7);
            assertThat(response.at("/error/message").asString()).isNotBlank();
            session.initialize();
            session.assertAlive();
        }
    }

    @Test
    void anIdThatIsInFlightIsRefusedAndTheCallGoesOn() {
        try (RawSseSession session = open()) {
            session.send(Json.call("1", "slow"));
            await().until(() -> running.get() == 1);

            refusal(session.post(Json.call("1", "slow"))).assertIs(400, INVALID_REQUEST, "in flight");

            session.assertAlive();
            gate.complete("done");
            JsonNode response = session.receive();
            assertThat(response.at("/id").asInt()).isEqualTo(1);
            assertThat(response.at("/result/content/0/text").asString()).isEqualTo("done");
            assertThat(running).hasValue(1);
        }
    }

    @Test
    void aCancelledCallIsDisposedOf() {
        try (RawSseSession session = open()) {
            session.send(Json.call("1", "slow"));
            await().until(() -> running.get() == 1);

            session.send(Json.notification("notifications/cancelled", "{\"requestId\":1}"));
            session.assertAlive();
            gate.complete("late");
            session.assertAlive();
        }
    }

    @Test
    void progressComesBeforeTheResult() {
        try (RawSseSession session = open()) {
            session.send(Json.callWithProgress("1", "steps"));

            assertThat(session.receive().at("/params/progress").asInt()).isEqualTo(1);
            assertThat(session.receive().at("/params/progress").asInt()).isEqualTo(2);
            assertThat(session.receive().at("/result/content/0/text").asString())
                    .isEqualTo("done");
        }
    }

    @Test
    void aHandlerAsksItsClient() {
        try (RawSseSession session = open()) {
            session.send(Json.call("1", "ask"));
            JsonNode question = session.receive();
            assertThat(question.at("/method").asString()).isEqualTo("elicitation/create");

            session.send(Json.answer(
                    question.at("/id").toString(), "{\"action\":\"accept\",\"content\":{\"answer\":\"forty-two\"}}"));

            assertThat(session.receive().at("/result/content/0/text").asString())
                    .isEqualTo("forty-two");
        }
    }

    @Test
    void theSessionOfAnotherIsNotFound() {
        Function<String, Function<RawRequest, RawRequest>> by = name -> request -> request.with(UserFilter.USER, name);
        try (RawSseSession session =
                RawSseSession.connect(server.port(), by.apply("alice").apply(RawSseSession.get()))) {
            RawRequest initialize = session.post(Json.initialize(RawSseSession.REVISION));

            refusal(by.apply("bob").apply(initialize)).assertIs(404, SESSION_NOT_FOUND, "session not found");
            refusal(initialize).assertIs(404, SESSION_NOT_FOUND, "session not found");

            assertThat(session.status(by.apply("alice").apply(initialize))).isEqualTo(202);
            assertThat(session.receive().has("result")).isTrue();
        }
    }

    @Test
    void theLogNeverHasAWholeId() {
        try (LogCapture log = new LogCapture(Level.DEBUG)) {
            RawSseSession session = open();
            session.assertAlive();
            session.send(Json.answer("\"nobody asked\"", "{}"));
            refusal(session.post("{"));
            refusal(echo(session).with("Origin", "http://evil.example"));
            session.stream().reset();
            await().untilAsserted(session::assertGone);
            await().until(() -> server.holdfast().engine().size() == 0);

            String id = session.id();
            assertThat(log.lines()).anySatisfy(line -> assertThat(line.text()).contains(id.substring(0, 8)));
            assertThat(log.lines()).allSatisfy(line -> assertThat(line.text()).doesNotContain(id.substring(0, 12)));
        }
    }

    @Test
    void aConnectionThatMayNotBeEndedForItsAgeBeatsOn() throws Exception {
        Duration age = Duration.ofSeconds(1);
        try (TestServer aging = server().options(options -> options.sseEndpoint("/sse")
                        .heartbeatInterval(Duration.ofMillis(200))
                        .maxConnectionAge(age))
                .start()) {
            RawSseSession session = RawSseSession.open(aging.port());
            Parallel.pass(age.plusMillis(300));
            session.assertAlive();
            await().until(session.stream()::readable);

            session.stream().reset();

            await().until(() -> aging.holdfast().engine().size() == 0);
            session.assertGone();
        }
    }

    @Test
    void aHandlerThatHoldsTheThreadHoldsUpNeitherItsPostNorTheNext() throws Exception {
        CompletableFuture<String> release = new CompletableFuture<>();
        try (TestServer immediate = TestServer.in(kind)
                .options(options -> options.sseEndpoint("/sse"))
                .syncServer(specification -> specification
                        .immediateExecution(true)
                        .toolCall(Tools.definition("patient"), (exchange, request) -> Tools.text(release.join()))
                        .toolCall(Tools.definition("quick"), (exchange, request) -> Tools.text("quick")))
                .start()) {
            try (RawSseSession session = RawSseSession.open(immediate.port())) {
                // on a busy machine some may take long, but hardly all
                await().until(() -> keepsItsConnection(immediate, session));
                try (RawConnection post =
                        RawConnection.open(immediate.port()).send(session.post(Json.call("\"patient\"", "patient")))) {
                    RawConnection.Head head = post.head();
                    assertThat(head.status()).isEqualTo(202);
                    assertThat(head.header("Connection")).contains("close");
                    session.send(Json.answer("\"nobody asked\"", "{}"));

                    release.complete("done");

                    assertThat(session.receive().at("/result/content/0/text").asString())
                            .isEqualTo("done");
                }
            }
        }
    }

    @Test
    void aQueryThatCannotBeReadIsABadRequest() {
        refusal(RawRequest.post(Json.echo("1", "hello")).to("/message?sessionId=%zz"))
                .assertIs(400, INVALID_REQUEST, "sessionId");
    }

    @Test
    void pathsThatCouldBeTakenForEachOtherAreRefused() {
        HoldfastTransportProviderBuilder builder =
                HoldfastTransportProvider.builder().mcpEndpoint("/mcp/message").sseEndpoint("/sse");

        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "mcpEndpoint, which is /mcp/message, and messageEndpoint, which is /message, must not end with"
                                + " one another");
        assertThatThrownBy(builder.mcpEndpoint("/sse")::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "mcpEndpoint, which is /sse, and sseEndpoint, which is /sse, must not end with one another");
        assertThatThrownBy(() -> builder.messageEndpoint("/mcp/sse")).isInstanceOf(IllegalArgumentException.class);
    }
}
