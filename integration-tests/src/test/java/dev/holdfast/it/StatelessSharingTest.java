package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.Finding;
import dev.holdfast.servlet.Authenticator;
import dev.holdfast.servlet.Isolation;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import tools.jackson.databind.JsonNode;

/** Requests of the stateless revision that share a session of the server: none is in the way of another. */
@Timeout(60)
class StatelessSharingTest {
    private static final String TASKS = "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}";
    /** More than one session has calls at once. */
    private static final int MANY = 80;
    /** More than the buffers of a connection take. */
    private static final int HUGE = 12_000_000;

    private final Sinks.One<String> end = Sinks.one();
    private final AtomicInteger running = new AtomicInteger();
    private TestServer server;

    @BeforeEach
    void start() throws Exception {
        start(Isolation.PRINCIPAL, Duration.ofMillis(500));
    }

    private void start(Isolation isolation, Duration taskAfter) throws Exception {
        Tool region = Tools.read(
                Tool.class,
                "{\"name\":\"region\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\","
                        + "\"x-mcp-header\":\"Region\"}}}}");
        server = TestServer.in(ContainerKind.JETTY)
                .edge(edge -> edge.isolation(isolation)
                        .authenticator(request -> new Authenticator.Known(
                                Optional.ofNullable(request.getHeader("X-User")).orElse("Ann")))
                        .taskAfter(taskAfter))
                .tool(
                        "wait",
                        (exchange, request) -> Mono.defer(() -> {
                            running.incrementAndGet();
                            return end.asMono();
                        }))
                .tool("long", (exchange, request) -> Mono.just("x".repeat(3_000_000)))
                .tool("huge", (exchange, request) -> Mono.just("x".repeat(HUGE)))
                .tool(new AsyncToolSpecification(region, (exchange, request) -> Mono.just(Tools.text("done"))))
                .start();
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    private static RawRequest call(String tool, String capabilities) {
        return RawRequest.modernCall(tool, capabilities, "north");
    }

    private JsonNode answer(RawRequest request) {
        try (RawConnection connection = RawConnection.open(server.port()).send(request)) {
            return connection.answer();
        }
    }

    /** The text of a task's result, once it has one. */
    private String completed(String task) {
        RawRequest get = RawRequest.modern("1", "tasks/get", task, TASKS, "\"taskId\":\"" + task + "\"");
        await().until(() -> answer(get).at("/result/status").asString().equals("completed"));
        return answer(get).at("/result/result/content/0/text").asString();
    }

    /** The ids of so many calls that wait until they are tasks; {@code then} runs after each is sent. */
    private List<String> tasks(int count, Runnable then) {
        List<RawConnection> connections = new ArrayList<>();
        try {
            for (int i = 0; i < count; i++) {
                connections.add(RawConnection.open(server.port()).send(call("wait", TASKS)));
                then.run();
            }
            return connections.stream()
                    .map(connection -> connection.answer().at("/result/taskId").asString())
                    .toList();
        } finally {
            connections.forEach(RawConnection::close);
        }
    }

    /** Lets long answers, which take a busy machine its time, be answers and not tasks. */
    private void startPatiently() throws Exception {
        server.close();
        start(Isolation.PRINCIPAL, Duration.ofSeconds(5));
    }

    private void assertLongAnswer() {
        assertThat(answer(call("long", TASKS)).at("/result/content/0/text").asString())
                .hasSize(3_000_000);
    }

    /** The sessions that carry tasks. */
    private static Set<String> sessions(List<String> tasks) {
        return tasks.stream().map(task -> task.substring(0, task.indexOf('.'))).collect(Collectors.toSet());
    }

    @Test
    void moreCallsRunAtTheSameTimeThanOneSessionTakes() {
        List<RawConnection> connections = new ArrayList<>();
        try {
            for (int i = 0; i < MANY; i++) {
                connections.add(RawConnection.open(server.port()).send(call("wait", "{}")));
            }
            await().until(() -> running.get() == MANY);
            end.tryEmitValue("over").orThrow();

            for (RawConnection connection : connections) {
                assertThat(connection.answer().at("/result/content/0/text").asString())
                        .isEqualTo("over");
            }
        } finally {
            connections.forEach(RawConnection::close);
        }
    }

    @Test
    void moreTasksAreKeptThanOneSessionHasRoomFor() {
        List<String> tasks = tasks(MANY, () -> {});
        end.tryEmitValue("over").orThrow();

        for (String task : tasks) {
            assertThat(completed(task)).isEqualTo("over");
        }
        assertThat(sessions(tasks)).hasSizeGreaterThan(1);
    }

    @Test
    void longResultsThatNobodyHasFetchedAreInNobodysWay() throws Exception {
        startPatiently();
        List<String> tasks = tasks(4, () -> {});
        end.tryEmitValue("y".repeat(3_900_000)).orThrow();
        tasks.forEach(task -> assertThat(completed(task)).hasSize(3_900_000));

        assertLongAnswer();
    }

    @Test
    void longAnswersThatWereFetchedTakeNoRoom() throws Exception {
        startPatiently();

        assertThat(sessions(tasks(3, this::assertLongAnswer))).hasSize(1);
    }

    /** A session that carries nothing ends after a minute: then the connection of one who still read his answer was cut. */
    @Test
    @Timeout(180)
    void aSessionStaysForAsLongAsAnAnswerIsRead() throws Exception {
        startPatiently();
        StringBuilder text = new StringBuilder();
        try (RawConnection slow = RawConnection.open(server.port(), 16 << 10).send(call("huge", "{}"))) {
            slow.head();
            for (int second = 0; second < 70; second++) {
                for (int i = 0; i < 80_000; i++) {
                    text.append((char) slow.read());
                }
                LockSupport.parkNanos(Duration.ofSeconds(1).toNanos());
            }
            text.append(slow.body());

            assertThat(slow.end()).isEqualTo(RawConnection.End.IN_ORDER);
        }
        assertThat(text.chars().filter(c -> c == 'x').count()).isGreaterThanOrEqualTo(HUGE);
    }

    @Test
    void whoseATaskIsIsToldApartInASessionOfAll() throws Exception {
        server.close();
        start(Isolation.SHARED, Duration.ofMillis(500));
        List<String> tasks = new ArrayList<>();
        for (String user : List.of("Ann", "Bob")) {
            tasks.add(answer(call("wait", TASKS).with("X-User", user))
                    .at("/result/taskId")
                    .asString());
        }

        assertThat(sessions(tasks)).hasSize(1);
        for (String user : List.of("Ann", "Bob", "Eve")) {
            List<Boolean> found = new ArrayList<>();
            for (String task : tasks) {
                found.add(answer(RawRequest.modern("1", "tasks/get", task, TASKS, "\"taskId\":\"" + task + "\"")
                                .with("X-User", user))
                        .has("result"));
            }
            assertThat(found).containsExactly(user.equals("Ann"), user.equals("Bob"));
        }
    }

    @Test
    void aTaskWhoseSessionHasEndedLeavesNothing() throws Exception {
        LiveObjects before = LiveObjects.now();
        String task;
        try (RawConnection connection = RawConnection.open(server.port()).send(call("wait", TASKS))) {
            task = connection.answer().at("/result/taskId").asString();
        }

        server.holdfast()
                .engine()
                .find(task.substring(0, task.indexOf('.')), "Ann")
                .thenCompose(found -> ((Finding.Found) found).session().terminate())
                .toCompletableFuture()
                .join();

        await().atMost(Duration.ofSeconds(20))
                .pollInterval(Duration.ofMillis(500))
                .untilAsserted(() -> assertThat(LiveObjects.now().moreThan(before))
                        .doesNotContainKeys("dev.holdfast.session.LiveSession", "dev.holdfast.modern.Carrier"));
    }

    @Test
    void argumentsAreComparedWithTheHeadersThatTheirToolNames() {
        RawRequest call = call("region", "{}");
        assertThat(answer(call).at("/result/content/0/text").asString())
                .as("nobody has listed the tools yet")
                .isEqualTo("done");

        answer(RawRequest.modern("1", "tools/list", "", "{}", "\"cursor\":null"));

        for (RawRequest wrong : List.of(call, call.with("Mcp-Param-Region", "south"))) {
            assertThat(answer(wrong).at("/error/code").asInt()).isEqualTo(-32020);
        }
        assertThat(answer(call.with("Mcp-Param-Region", "north"))
                        .at("/result/content/0/text")
                        .asString())
                .isEqualTo("done");
    }
}
