package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.servlet.EdgeOptions;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import tools.jackson.databind.JsonNode;

/** Requests of the stateless revision: each stands alone, and what it asks for is a call of a session that nobody names. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(60)
class StatelessTest {
    private static final String MODERN = "2026-07-28";
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration TASK_AFTER = Duration.ofMillis(400);
    private static final String TASKS = "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}";
    private static final String ELICITS_AND_TASKS =
            "{\"elicitation\":{},\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}";
    private static final String ELICITS = "{\"elicitation\":{}}";

    /** What ends the calls of the tool {@code wait}, by their argument. */
    private static final Map<String, Sinks.One<String>> WAITING = new ConcurrentHashMap<>();
    /** What was cancelled, by the argument of the call. */
    private static final Map<String, CountDownLatch> CANCELLED = new ConcurrentHashMap<>();

    /** The arguments of calls that were told to have a URL opened. */
    private static final Set<String> LINKED = ConcurrentHashMap.newKeySet();

    private static final SharedServer server = new SharedServer();

    StatelessTest(ContainerKind kind) {}

    @BeforeParameterizedClassInvocation
    static void start(ContainerKind kind) throws Exception {
        WAITING.clear();
        CANCELLED.clear();
        server.start(TestServer.in(kind)
                .edge(StatelessTest::options)
                .tool("wait", (exchange, request) -> {
                    String name = Tools.textOf(request);
                    return waiting(name).asMono().doOnCancel(cancelled(name)::countDown);
                })
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
                .tool(
                        "askThenTell",
                        (exchange, request) -> Tools.ask(exchange, "who?")
                                .then(Tools.progress(exchange, request, 1))
                                .thenReturn("told"))
                .tool(
                        "link",
                        (exchange, request) -> LINKED.add(Tools.textOf(request))
                                ? Mono.error(McpError.builder(-32042)
                                        .message("sign in first")
                                        .data(Map.of(
                                                "elicitations",
                                                List.of(Map.of("mode", "url", "url", "https://sign.in"))))
                                        .build())
                                : Mono.just("signed in"))
                .tool(
                        "askLater",
                        (exchange, request) -> Mono.delay(TASK_AFTER.multipliedBy(2))
                                .then(Tools.ask(exchange, "who?"))
                                .map(answer -> String.valueOf(answer.content().get("text"))))
                .tool(
                        "askLaterTwice",
                        (exchange, request) -> Mono.delay(TASK_AFTER.multipliedBy(2))
                                .then(Tools.ask(exchange, "who?"))
                                .then(Tools.ask(exchange, "and you?"))
                                .map(answer -> String.valueOf(answer.content().get("text"))))
                .tool(
                        "askFirst",
                        (exchange, request) -> Tools.ask(exchange, "who?")
                                .flatMap(answer -> waiting(Tools.textOf(request))
                                        .asMono()
                                        .map(text -> answer.content().get("text") + text)))
                .server(specification -> specification.capabilities(
                        ServerCapabilities.builder().tools(true).logging().build())));
    }

    private static EdgeOptions.Builder options(EdgeOptions.Builder edge) {
        return edge.taskAfter(TASK_AFTER);
    }

    @AfterParameterizedClassInvocation
    static void stop() throws Exception {
        server.stop();
    }

    private static Sinks.One<String> waiting(String name) {
        return WAITING.computeIfAbsent(name, key -> Sinks.one());
    }

    private static CountDownLatch cancelled(String name) {
        return CANCELLED.computeIfAbsent(name, key -> new CountDownLatch(1));
    }

    private static String meta(String capabilities, String token) {
        return "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" + MODERN
                + "\",\"io.modelcontextprotocol/clientCapabilities\":" + capabilities + token + "}";
    }

    private static RawRequest request(String id, String method, String capabilities, String params) {
        return request(id, method, capabilities, ",\"progressToken\":\"p\"", params);
    }

    private static RawRequest request(String id, String method, String capabilities, String token, String params) {
        String more = params.isEmpty() ? "" : "," + params;
        return RawRequest.post(Json.request(id, method, "{" + meta(capabilities, token) + more + "}"))
                .with("MCP-Protocol-Version", MODERN)
                .with("Mcp-Method", method);
    }

    private static RawRequest call(String id, String capabilities, String tool, String text) {
        return request(
                        id,
                        "tools/call",
                        capabilities,
                        "\"name\":\"" + tool + "\",\"arguments\":{\"text\":\"" + text + "\"}")
                .with("Mcp-Name", tool);
    }

    private record Answer(RawConnection.Head head, JsonNode json) {
        static Answer to(RawRequest request) {
            try (RawConnection connection = RawConnection.open(server.port()).send(request)) {
                RawConnection.Head head = connection.head();
                String type = head.header("Content-Type").orElse("");
                if (type.startsWith("application/json")) {
                    return new Answer(head, Json.parse(connection.body()));
                }
                List<Frame> messages = connection.messages();
                return new Answer(head, messages.get(messages.size() - 1).json());
            }
        }

        String at(String pointer) {
            return json.at(pointer).asString();
        }
    }

    private static Answer task(String method, String id, String more) {
        return Answer.to(request("\"t\"", method, TASKS, "\"taskId\":\"" + id + "\"" + more)
                .with("Mcp-Name", id));
    }

    private static JsonNode until(String id, String status) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (true) {
            JsonNode result = task("tasks/get", id, "").json().at("/result");
            if (result.at("/status").asString().equals(status)) {
                return result;
            }
            assertThat(System.nanoTime()).as(result.toString()).isLessThan(deadline);
        }
    }

    @Test
    void aServerIsDiscovered() {
        Answer answer = Answer.to(request("\"d\"", "server/discover", "{}", ""));

        assertThat(answer.head().status()).isEqualTo(200);
        assertThat(answer.at("/id")).isEqualTo("d");
        assertThat(answer.at("/result/supportedVersions/0")).isEqualTo(MODERN);
        assertThat(answer.json().at("/result/capabilities/tools").isObject()).isTrue();
        assertThat(answer.at("/result/resultType")).isEqualTo("complete");
        assertThat(answer.json().at("/result/ttlMs").isInt()).isTrue();
        assertThat(answer.json()
                        .at("/result/_meta")
                        .get("io.modelcontextprotocol/serverInfo")
                        .get("name")
                        .asString())
                .isEqualTo("test");
    }

    @Test
    void aCallIsAnsweredByJsonUnderTheIdThatItsClientGave() {
        Answer answer = Answer.to(call("\"seven\"", "{}", "echo", "hello").with("Mcp-Session-Id", "forged"));

        assertThat(answer.head().status()).isEqualTo(200);
        assertThat(answer.head().header("Content-Type").orElse("")).startsWith("application/json");
        assertThat(answer.head().header("Mcp-Session-Id")).isEmpty();
        assertThat(answer.at("/id")).isEqualTo("seven");
        assertThat(answer.at("/result/content/0/text")).isEqualTo("hello");
        assertThat(answer.at("/result/resultType")).isEqualTo("complete");
    }

    @Test
    void aCallThatTellsItsProgressIsAnsweredByAStreamWithoutIds() {
        try (RawConnection connection = RawConnection.open(server.port()).send(call("1", "{}", "progress", ""))) {
            assertThat(connection.head().header("Content-Type").orElse("")).startsWith("text/event-stream");
            List<Frame> frames = connection.messages();
            assertThat(frames).hasSize(3).allMatch(frame -> frame.id().isEmpty());
            assertThat(frames.get(0).json().at("/method").asString()).isEqualTo("notifications/progress");
            assertThat(frames.get(2).json().at("/result/content/0/text").asString())
                    .isEqualTo("done");
        }
    }

    @Test
    void aClientThatLeavesCancelsItsCall() throws InterruptedException {
        RawConnection connection = RawConnection.open(server.port()).send(call("1", "{}", "wait", "left"));
        connection.head();
        connection.reset();

        assertThat(cancelled("left").await(10, TimeUnit.SECONDS)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"initialize", "ping", "logging/setLevel", "resources/subscribe", "unknown/method"})
    void whatIsNotServedIsNotFound(String method) {
        Answer answer = Answer.to(request("5", method, "{}", ""));

        assertThat(answer.head().status()).isEqualTo(404);
        assertThat(answer.json().at("/error/code").asInt()).isEqualTo(-32601);
        assertThat(answer.json().at("/id").asInt()).isEqualTo(5);
    }

    @ParameterizedTest
    @CsvSource({"MCP-Protocol-Version, 2025-11-25, -32020", "Mcp-Method, tools/list, -32020", "Mcp-Name, other, -32020"
    })
    void headersThatSaySomethingElseAreRefused(String header, String value, int code) {
        RawRequest request = call("5", "{}", "echo", "hello");

        for (RawRequest wrong : List.of(request.with(header, value), request.without(header))) {
            Answer answer = Answer.to(wrong);
            assertThat(answer.head().status()).isEqualTo(400);
            assertThat(answer.json().at("/error/code").asInt()).isEqualTo(code);
            assertThat(answer.json().at("/id").asInt()).isEqualTo(5);
        }
    }

    @Test
    void aNameMayBeEncoded() {
        Answer answer = Answer.to(call("5", "{}", "echo", "hello").with("Mcp-Name", "=?base64?ZWNobw==?="));

        assertThat(answer.at("/result/content/0/text")).isEqualTo("hello");
    }

    @Test
    void aRevisionThatIsNotServedIsRefusedWithThoseThatAre() {
        RawRequest request = RawRequest.post(Json.request(
                        "5",
                        "server/discover",
                        "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"v999\","
                                + "\"io.modelcontextprotocol/clientCapabilities\":{}}}"))
                .with("MCP-Protocol-Version", "v999")
                .with("Mcp-Method", "server/discover");

        Answer answer = Answer.to(request);
        assertThat(answer.head().status()).isEqualTo(400);
        assertThat(answer.json().at("/error/code").asInt()).isEqualTo(-32022);
        assertThat(answer.at("/error/data/requested")).isEqualTo("v999");
        assertThat(answer.at("/error/data/supported/0")).isEqualTo(MODERN);
    }

    @Test
    void aClientBehindABridgeThatDropsItsHeadersFallsBack() {
        Answer answer = Answer.to(request("\"d\"", "server/discover", "{}", "")
                .without("MCP-Protocol-Version")
                .without("Mcp-Method"));

        assertThat(answer.head().status()).isEqualTo(400);
        assertThat(answer.json().at("/error/code").asInt()).isEqualTo(-32601);
        assertThat(answer.at("/error/message")).contains("initialize");
        assertThat(answer.at("/id")).isEqualTo("d");
    }

    @Test
    void aRequestThatDoesNotSayWhatItsClientCanDoIsRefused() {
        RawRequest nothing = RawRequest.post(Json.request("5", "server/discover", "{}"))
                .with("MCP-Protocol-Version", MODERN)
                .with("Mcp-Method", "server/discover");
        RawRequest version = RawRequest.post(Json.request(
                        "5",
                        "server/discover",
                        "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" + MODERN + "\"}}"))
                .with("MCP-Protocol-Version", MODERN)
                .with("Mcp-Method", "server/discover");

        for (RawRequest wrong : List.of(nothing, version)) {
            Answer answer = Answer.to(wrong);
            assertThat(answer.head().status()).isEqualTo(400);
            assertThat(answer.json().at("/error/code").asInt()).isEqualTo(-32602);
        }
    }

    @Test
    void aClientOfALegacyRevisionNoticesNothing() {
        RawSession session = RawSession.open(server.port());

        session.assertAlive();
        assertThat(Answer.to(call("1", "{}", "echo", "hello")).at("/result/content/0/text"))
                .isEqualTo("hello");
        session.assertAlive();
    }

    /** The SDK's client knows no revision without sessions. */
    @Test
    void theClientOfTheSdkNoticesNothingBesideOneWithoutASession() {
        List<Integer> told = new CopyOnWriteArrayList<>();
        McpAsyncClient client = SdkClients.open(
                HttpClientStreamableHttpTransport.builder("http://127.0.0.1:" + server.port())
                        .build(),
                PATIENCE,
                question -> CompletableFuture.completedFuture(question.equals("who?") ? "Ann" : "Bob"),
                told);
        CompletableFuture<String> progress = SdkClients.call(client, "progress", "");
        CompletableFuture<String> asked = SdkClients.call(client, "ask", "");

        assertThat(Answer.to(call("1", "{}", "echo", "hello")).at("/result/content/0/text"))
                .isEqualTo("hello");
        assertThat(progress).succeedsWithin(PATIENCE).isEqualTo("done");
        assertThat(asked).succeedsWithin(PATIENCE).isEqualTo("Ann and Bob");
        await().untilAsserted(() -> assertThat(told).containsExactly(1, 2));
        client.closeGracefully().block(PATIENCE);
    }

    @Test
    void aSlowCallBecomesATaskThatOutlivesItsConnection() {
        Answer created = Answer.to(call("1", TASKS, "wait", "task"));
        assertThat(created.at("/result/resultType")).isEqualTo("task");
        assertThat(created.at("/result/status")).isEqualTo("working");
        String id = created.at("/result/taskId");

        assertThat(until(id, "working").at("/resultType").asString()).isEqualTo("complete");
        waiting("task").tryEmitValue("late").orThrow();
        JsonNode completed = until(id, "completed");
        assertThat(completed.at("/result/content/0/text").asString()).isEqualTo("late");
        assertThat(until(id, "completed").at("/result")).isEqualTo(completed.at("/result"));
    }

    @Test
    void aQuickCallOfAClientThatTakesTasksIsNone() {
        // on a busy machine not every one is quick
        await().untilAsserted(() -> assertThat(
                        Answer.to(call("1", TASKS, "echo", "hello")).at("/result/resultType"))
                .isEqualTo("complete"));
    }

    @Test
    void aTaskIsCancelled() throws InterruptedException {
        String id = Answer.to(call("1", TASKS, "wait", "unwanted")).at("/result/taskId");

        assertThat(task("tasks/cancel", id, "").at("/result/resultType")).isEqualTo("complete");
        assertThat(cancelled("unwanted").await(10, TimeUnit.SECONDS)).isTrue();
        until(id, "cancelled");
    }

    @Test
    void aTaskThatIsNotThereIsAMiss() {
        String id = Answer.to(call("1", TASKS, "wait", "guessed")).at("/result/taskId");
        String guessed = id.substring(0, id.lastIndexOf('.') + 1) + "AAAAAAAAAAAAAAAAAAAAAA";

        for (String wrong : List.of("none", guessed, "x" + id)) {
            assertThat(task("tasks/get", wrong, "").json().at("/error/code").asInt())
                    .isEqualTo(-32602);
        }
        assertThat(task("tasks/get", id, "").at("/result/status")).isEqualTo("working");
        RawSession session = RawSession.open(server.port());
        String carrier = id.substring(0, id.indexOf('.'));
        assertThat(Refusal.of(
                                server.port(),
                                session.post(Json.echo("1", "hello")).with("Mcp-Session-Id", carrier))
                        .status())
                .isEqualTo(404);
    }

    private static String accepted(JsonNode asked, String name) {
        String key = asked.propertyNames().iterator().next();
        assertThat(asked.get(key).at("/method").asString()).isEqualTo("elicitation/create");
        return "\"inputResponses\":{\"" + key + "\":{\"action\":\"accept\",\"content\":{\"text\":\"" + name
                + "\"}},\"other\":{}}";
    }

    @Test
    void aTaskAsksItsClient() {
        String id = Answer.to(call("1", ELICITS_AND_TASKS, "askLater", "")).at("/result/taskId");
        JsonNode asked = until(id, "input_required").at("/inputRequests");

        task("tasks/update", id, "," + accepted(asked, "Ann"));

        assertThat(until(id, "completed").at("/result/content/0/text").asString())
                .isEqualTo("Ann");
    }

    @Test
    void aCallThatAsksBeforeItIsATaskBecomesOneWhenItGoesOn() {
        // on a busy machine not every one asks so early
        JsonNode asked = await().until(
                        () -> Answer.to(call("1", ELICITS_AND_TASKS, "askFirst", "later"))
                                .json()
                                .at("/result"),
                        result -> result.at("/resultType").asString().equals("input_required"));
        assertThat(asked.has("taskId")).isFalse();

        JsonNode task = Answer.to(request(
                                "2",
                                "tools/call",
                                ELICITS_AND_TASKS,
                                "\"name\":\"askFirst\",\"arguments\":{\"text\":\"later\"},\"requestState\":\""
                                        + asked.at("/requestState").asString() + "\","
                                        + accepted(asked.at("/inputRequests"), "Ann"))
                        .with("Mcp-Name", "askFirst"))
                .json()
                .at("/result");

        assertThat(task.at("/resultType").asString()).isEqualTo("task");
        assertThat(task.has("requestState")).isFalse();
        waiting("later").tryEmitValue(" waited");
        assertThat(until(task.at("/taskId").asString(), "completed")
                        .at("/result/content/0/text")
                        .asString())
                .isEqualTo("Ann waited");
    }

    @Test
    void aCallThatNeedsAUrlOpenedIsSentAgainWhenThatIsDone() {
        String opens = "{\"elicitation\":{\"url\":{}}}";
        String text = "opened in " + server.port();

        JsonNode asked = Answer.to(call("1", opens, "link", text)).json().at("/result");
        Answer done = Answer.to(request(
                        "2",
                        "tools/call",
                        opens,
                        "\"name\":\"link\",\"arguments\":{\"text\":\"" + text
                                + "\"},\"inputResponses\":{\"url1\":{\"action\":\"accept\"}}")
                .with("Mcp-Name", "link"));

        assertThat(asked.at("/resultType").asString()).isEqualTo("input_required");
        JsonNode params = asked.at("/inputRequests").iterator().next().at("/params");
        assertThat(params.at("/url").asString()).isEqualTo("https://sign.in");
        assertThat(done.at("/result/content/0/text")).isEqualTo("signed in");
        assertThat(Answer.to(call("3", ELICITS, "link", "not " + text)).json().at("/error/data"))
                .hasToString("{\"requiredCapabilities\":{\"elicitation\":{\"url\":{}}}}");
    }

    @Test
    void aCallThatAsksIsParkedAndGoesOnWithTheAnswers() {
        Answer answer = Answer.to(call("1", ELICITS, "ask", ""));
        String firstState = answer.at("/result/requestState");
        for (String name : List.of("Ann", "Bob")) {
            assertThat(answer.at("/result/resultType")).isEqualTo("input_required");
            JsonNode asked = answer.json().at("/result/inputRequests");
            String key = asked.propertyNames().iterator().next();
            answer = Answer.to(request(
                            "2",
                            "tools/call",
                            ELICITS,
                            "\"name\":\"ask\",\"arguments\":{\"text\":\"\"},\"requestState\":\""
                                    + answer.at("/result/requestState") + "\",\"inputResponses\":{\"" + key
                                    + "\":{\"action\":\"accept\",\"content\":{\"text\":\"" + name + "\"}}}")
                    .with("Mcp-Name", "ask"));
            assertThat(answer.at("/result/requestState")).isNotEqualTo(firstState);
        }
        assertThat(answer.json().at("/id").asInt()).isEqualTo(2);
        assertThat(answer.at("/result/content/0/text")).isEqualTo("Ann and Bob");
    }

    private static RawRequest retry(String tool, Answer asked, String token) {
        return request(
                        "2",
                        "tools/call",
                        ELICITS,
                        token,
                        "\"name\":\"" + tool + "\",\"arguments\":{\"text\":\"\"},\"requestState\":\""
                                + asked.at("/result/requestState") + "\","
                                + accepted(asked.json().at("/result/inputRequests"), "Ann"))
                .with("Mcp-Name", tool);
    }

    @Test
    void progressIsThatOfTheRequestThatIsAnswered() {
        Answer asked = Answer.to(call("1", ELICITS, "askThenTell", ""));
        try (RawConnection connection =
                RawConnection.open(server.port()).send(retry("askThenTell", asked, ",\"progressToken\":\"another\""))) {
            connection.head();
            assertThat(connection.message().json().at("/params/progressToken").asString())
                    .isEqualTo("another");
            assertThat(connection.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("told");
        }
        asked = Answer.to(call("1", ELICITS, "askThenTell", ""));
        try (RawConnection connection = RawConnection.open(server.port()).send(retry("askThenTell", asked, ""))) {
            assertThat(connection.head().header("Content-Type").orElse(""))
                    .as("it has asked for no progress")
                    .startsWith("application/json");
        }
    }

    @Test
    void aStateIsOfOneTool() {
        Answer asked = Answer.to(call("1", ELICITS, "ask", ""));

        assertThat(Answer.to(retry("echo", asked, "")).json().at("/error/code").asInt())
                .isEqualTo(-32602);
        assertThat(Answer.to(retry("ask", asked, "")).at("/result/resultType")).isEqualTo("input_required");
    }

    @Test
    void aStateThatWasTamperedWithIsRefused() {
        String state = Answer.to(call("1", ELICITS, "ask", "")).at("/result/requestState");

        for (String wrong : List.of("none", state + "x", state.substring(0, state.length() - 2))) {
            Answer answer = Answer.to(request(
                            "2",
                            "tools/call",
                            ELICITS,
                            "\"name\":\"ask\",\"arguments\":{},\"requestState\":\"" + wrong
                                    + "\",\"inputResponses\":{}")
                    .with("Mcp-Name", "ask"));
            assertThat(answer.json().at("/error/code").asInt()).isEqualTo(-32602);
        }
    }

    private static RawConnection listen(String capabilities, String wishes) {
        RawConnection connection = RawConnection.open(server.port())
                .send(request("9", "subscriptions/listen", capabilities, "\"notifications\":{" + wishes + "}"));
        assertThat(connection.head().status()).isEqualTo(200);
        return connection;
    }

    private static void assertOfSubscription(JsonNode notification, String method) {
        assertThat(notification.at("/method").asString()).isEqualTo(method);
        assertThat(notification
                        .at("/params/_meta")
                        .get("io.modelcontextprotocol/subscriptionId")
                        .asInt())
                .isEqualTo(9);
    }

    @Test
    void aClientHearsOfWhatItWantsToHear() {
        try (RawConnection listening = listen("{}", "\"toolsListChanged\":true,\"promptsListChanged\":true")) {
            JsonNode acknowledged = listening.message().json();
            assertOfSubscription(acknowledged, "notifications/subscriptions/acknowledged");
            JsonNode agreed = acknowledged.at("/params/notifications");
            assertThat(agreed.at("/toolsListChanged").asBoolean()).isTrue();
            assertThat(agreed.at("/promptsListChanged").isMissingNode())
                    .as("the server does not tell of its prompts")
                    .isTrue();

            server.server().notifyClients("notifications/prompts/list_changed", Map.of());
            server.server().notifyClients("notifications/tools/list_changed", Map.of());

            assertOfSubscription(listening.message().json(), "notifications/tools/list_changed");
        }
    }

    @Test
    void aClientHearsOfItsTasks() {
        String id = Answer.to(call("1", TASKS, "wait", "heard")).at("/result/taskId");

        try (RawConnection listening = listen(TASKS, "\"taskIds\":[\"" + id + "\",\"none\"]")) {
            JsonNode acknowledged = listening.message().json();
            assertThat(acknowledged.at("/params/notifications/taskIds")).hasSize(1);
            JsonNode working = listening.message().json();
            assertOfSubscription(working, "notifications/tasks");
            assertThat(working.at("/params/status").asString()).isEqualTo("working");

            // nobody has asked for this here
            server.server().notifyClients("notifications/tools/list_changed", Map.of());
            waiting("heard").tryEmitValue("done").orThrow();
            JsonNode completed = listening.message().json();
            assertThat(completed.at("/params/taskId").asString()).isEqualTo(id);
            assertThat(completed.at("/params/result/content/0/text").asString()).isEqualTo("done");
        }
        assertThat(Answer.to(request("9", "subscriptions/listen", "{}", "\"notifications\":{\"taskIds\":[]}"))
                        .json()
                        .at("/error/code")
                        .asInt())
                .isEqualTo(-32021);
    }

    private static JsonNode asksFor(RawConnection listening, String message) {
        JsonNode params;
        do {
            params = listening.message().json().at("/params");
        } while (!params.at("/status").asString().equals("input_required"));
        assertThat(params.at("/inputRequests").toString()).contains(message);
        return params.at("/inputRequests");
    }

    @Test
    void aClientHearsOfEachQuestionOfItsTask() {
        String id = Answer.to(call("1", ELICITS_AND_TASKS, "askLaterTwice", "")).at("/result/taskId");

        try (RawConnection listening = listen(TASKS, "\"taskIds\":[\"" + id + "\"]")) {
            task("tasks/update", id, "," + accepted(asksFor(listening, "who?"), "Ann"));
            task("tasks/update", id, "," + accepted(asksFor(listening, "and you?"), "Bob"));

            JsonNode completed = listening.message().json();
            while (!completed.at("/params/status").asString().equals("completed")) {
                completed = listening.message().json();
            }
            assertThat(completed.at("/params/result/content/0/text").asString()).isEqualTo("Bob");
        }
    }
}
