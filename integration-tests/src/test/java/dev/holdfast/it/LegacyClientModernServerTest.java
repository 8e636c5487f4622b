package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import dev.holdfast.servlet.Protocols;
import dev.holdfast.upstream.UpstreamHttp;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/** Clients with sessions, through a gateway, at a server that serves 2026-07-28 and nothing else. */
@Timeout(60)
class LegacyClientModernServerTest extends UpstreamOverEachHttp {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    /** No call that a test makes becomes a task, however slow the machine is. */
    private static final Duration NEVER = Duration.ofHours(1);

    private static final Duration TASK_AFTER = Duration.ofMillis(300);

    private final CountDownLatch cancelled = new CountDownLatch(1);
    private final List<Integer> told = new CopyOnWriteArrayList<>();
    private TestServer server;
    private UpstreamFront front;

    LegacyClientModernServerTest(UpstreamHttp http) {
        super(http);
    }

    @BeforeEach
    void start() throws Exception {
        start(NEVER);
    }

    private void start(Duration taskAfter) throws Exception {
        server = open.add(TestServer.in(ContainerKind.JETTY)
                .edge(edge -> edge.protocols(Protocols.MODERN).taskAfter(taskAfter))
                .tool(
                        "progress",
                        (exchange, request) -> Tools.progress(exchange, request, 1)
                                .then(Tools.progress(exchange, request, 2))
                                .thenReturn("done"))
                .tool(
                        "ask",
                        (exchange, request) -> Tools.ask(exchange, "who?")
                                .flatMap(first -> Tools.ask(exchange, "and you?")
                                        .map(second -> first.content().get("text") + " and "
                                                + second.content().get("text"))))
                .tool("wait", (exchange, request) -> {
                    executed.add("wait");
                    return end.asMono().doOnCancel(cancelled::countDown).thenReturn("late");
                })
                .tool(
                        "log",
                        (exchange, request) -> exchange.loggingNotification(
                                        new LoggingMessageNotification(LoggingLevel.WARNING, "test", "careful", null))
                                .thenReturn("logged"))
                .tool(routed())
                .server(specification -> specification.capabilities(ServerCapabilities.builder()
                        .tools(true)
                        .resources(true, true)
                        .logging()
                        .build()))
                .start());
        front = front(backend(URI.create("http://localhost:" + server.port() + "/mcp")));
    }

    /** A tool whose argument stands in a header too. */
    private static AsyncToolSpecification routed() {
        return AsyncToolSpecification.builder()
                .tool(Tools.read(
                        Tool.class,
                        "{\"name\":\"routed\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
                                + "{\"text\":{\"type\":\"string\",\"x-mcp-header\":\"Place\"}}}}"))
                .callHandler((exchange, request) -> Mono.just(Tools.text(Tools.textOf(request))))
                .build();
    }

    private McpAsyncClient client() {
        return client(HttpClientStreamableHttpTransport.builder("http://127.0.0.1:" + front.port())
                .build());
    }

    private McpAsyncClient client(McpClientTransport transport) {
        return SdkClients.open(
                transport,
                PATIENCE,
                question -> CompletableFuture.completedFuture(question.equals("who?") ? "Ann" : "Bob"),
                told);
    }

    private static CompletableFuture<String> call(McpAsyncClient client, String tool) {
        return SdkClients.call(client, tool, "hello, Wörld");
    }

    @Test
    void aClientOfTheSdkListsCallsHearsOfProgressAndIsAsked() {
        listsCallsHearsAndIsAsked(client());
    }

    @Test
    void oneWithTheTransportOfHoldfastNeedsNoGateway() {
        listsCallsHearsAndIsAsked(client(HoldfastClientTransport.builder("http://127.0.0.1:" + server.port())
                .build()));
    }

    private void listsCallsHearsAndIsAsked(McpAsyncClient client) {
        assertThat(client.getServerInfo().name()).isEqualTo("test");
        assertThat(client.ping()).isNotNull();
        assertThat(client.listTools()
                        .map(result -> result.tools().stream().map(Tool::name).toList())
                        .block(PATIENCE))
                .containsExactlyInAnyOrder("echo", "progress", "ask", "wait", "log", "routed");
        assertThat(call(client, "echo")).succeedsWithin(PATIENCE).isEqualTo("hello, Wörld");
        assertThat(call(client, "routed")).succeedsWithin(PATIENCE).isEqualTo("hello, Wörld");
        assertThat(call(client, "progress")).succeedsWithin(PATIENCE).isEqualTo("done");
        assertThat(call(client, "ask")).succeedsWithin(PATIENCE).isEqualTo("Ann and Bob");
        await().untilAsserted(() -> assertThat(told).containsExactly(1, 2));
        client.closeGracefully().block(PATIENCE);
    }

    @Test
    void aCallThatBecomesATaskHasItsResult() throws Exception {
        start(TASK_AFTER);
        McpAsyncClient client = client();
        CompletableFuture<String> waiting = call(client, "wait");
        await().until(() -> !executed.isEmpty());
        await().pollDelay(TASK_AFTER.multipliedBy(2)).until(() -> !waiting.isDone());

        end.tryEmitEmpty();

        assertThat(waiting).succeedsWithin(PATIENCE).isEqualTo("late");
        assertThat(executed).containsExactly("wait");
        client.closeGracefully().block(PATIENCE);
    }

    private JsonNode answer(RawSession session, String json) {
        try (RawConnection connection = session.stream(session.post(json))) {
            List<Frame> messages = connection.messages();
            return messages.get(messages.size() - 1).json();
        }
    }

    private void cancelling(Duration after) throws Exception {
        RawSession session = RawSession.open(front.port());
        try (RawConnection call = session.stream(session.post(Json.call("5", "wait")))) {
            await().until(() -> !executed.isEmpty());
            await().pollDelay(after).until(() -> true);
            session.status(session.post(Json.notification("notifications/cancelled", "{\"requestId\":5}")));

            assertThat(cancelled.await(20, TimeUnit.SECONDS)).isTrue();
            assertThat(call.messages()).isEmpty();
        }
        session.assertAlive();
    }

    @Test
    void aCallIsCancelled() throws Exception {
        // a server that has made a task of it could not be told by the end of a connection
        cancelling(Duration.ZERO);
    }

    @Test
    void aTaskIsCancelled() throws Exception {
        start(TASK_AFTER);
        cancelling(TASK_AFTER.multipliedBy(3));
    }

    @Test
    void theLogIsHeardByWhoWantsIt() {
        RawSession session = RawSession.open(front.port());

        try (RawConnection call = session.stream(session.post(Json.call("1", "log")))) {
            assertThat(call.messages()).hasSize(1);
        }
        assertThat(answer(session, Json.request("2", "logging/setLevel", "{\"level\":\"loud\"}"))
                        .at("/error/code")
                        .asInt())
                .isEqualTo(-32602);
        assertThat(answer(session, Json.request("3", "logging/setLevel", "{\"level\":\"info\"}"))
                        .at("/result")
                        .isObject())
                .isTrue();
        try (RawConnection call = session.stream(session.post(Json.call("4", "log")))) {
            assertThat(call.message().json().at("/params/data").asString()).isEqualTo("careful");
            assertThat(call.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("logged");
        }
    }

    @Test
    void anArgumentThatBelongsInAHeaderIsThereThoughTheClientHasListedNoTools() {
        RawSession session = RawSession.open(front.port());

        assertThat(answer(
                                session,
                                Json.request(
                                        "1", "tools/call", "{\"name\":\"routed\",\"arguments\":{\"text\":\"one\"}}"))
                        .at("/result/content/0/text")
                        .asString())
                .isEqualTo("one");
    }

    @Test
    void aClientHearsOfChanges() {
        RawSession session = RawSession.open(front.port());
        try (RawConnection listening = session.stream(session.get())) {
            assertThat(answer(session, Json.request("1", "resources/subscribe", "{\"uri\":\"a://b\"}"))
                            .at("/result")
                            .isObject())
                    .isTrue();

            server.notifyClients("notifications/resources/updated", Map.of("uri", "a://c"));
            server.notifyClients("notifications/resources/updated", Map.of("uri", "a://b"));
            assertThat(listening.message().json().at("/params/uri").asString()).isEqualTo("a://b");
            server.notifyClients("notifications/tools/list_changed", Map.of());
            assertThat(listening.message().json().at("/method").asString())
                    .isEqualTo("notifications/tools/list_changed");

            assertThat(answer(session, Json.request("2", "resources/unsubscribe", "{\"uri\":\"a://b\"}"))
                            .at("/result")
                            .isObject())
                    .isTrue();
            server.notifyClients("notifications/resources/updated", Map.of("uri", "a://b"));
            server.notifyClients("notifications/tools/list_changed", Map.of());
            assertThat(listening.message().json().at("/method").asString())
                    .isEqualTo("notifications/tools/list_changed");
        }
    }

    @Test
    void whatTheServerRefusesIsToldInItsWords() {
        RawSession session = RawSession.open(front.port());

        assertThat(answer(session, Json.request("1", "unknown/method", "{}"))
                        .at("/error/code")
                        .asInt())
                .isEqualTo(-32601);
        assertThat(answer(session, Json.call("2", "none")).at("/error").isObject())
                .isTrue();
    }
}
