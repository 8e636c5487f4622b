package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.servlet.Isolation;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Sinks;
import tools.jackson.databind.JsonNode;

/** A client answers what it was asked by a retry of its request: twice at the same time, or it leaves. Nothing runs twice, or is left. */
@ParameterizedClass
@CsvSource({"JETTY, REQUEST", "JETTY, PRINCIPAL", "TOMCAT, REQUEST", "TOMCAT, PRINCIPAL"})
@Timeout(120)
class StatelessRetryTest {
    private static final String ELICITS = "{\"elicitation\":{}}";
    /** More than a session has room for calls whose clients may come back. */
    private static final int ROUNDS = 24;

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration CANCELLED = Duration.ofSeconds(10);
    private static final int MOST_NANOS_APART = 3_000_000;

    private final ContainerKind kind;
    private final Isolation isolation;
    private final SplittableRandom random = new SplittableRandom(4_711);
    /** What ends the calls, by their texts. */
    private final Map<String, Sinks.One<String>> ends = new ConcurrentHashMap<>();

    private final Map<String, Integer> runs = new ConcurrentHashMap<>();
    private final Map<String, Integer> answered = new ConcurrentHashMap<>();
    private final Set<String> over = ConcurrentHashMap.newKeySet();
    private final Map<String, Integer> cancelled = new ConcurrentHashMap<>();
    private final ExecutorService clients = Executors.newCachedThreadPool();
    private TestServer server;

    StatelessRetryTest(ContainerKind kind, Isolation isolation) {
        this.kind = kind;
        this.isolation = isolation;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .edge(edge -> edge.isolation(isolation))
                .tool("ask", (exchange, request) -> {
                    String name = Tools.textOf(request);
                    runs.merge(name, 1, Integer::sum);
                    return Tools.ask(exchange, "who?")
                            .flatMap(result -> {
                                answered.merge(name, 1, Integer::sum);
                                return ended(name)
                                        .asMono()
                                        .map(end -> end + result.content().get("text"));
                            })
                            .doOnCancel(() -> {
                                // what has its result may be given up while that is sent
                                if (!over.contains(name)) {
                                    cancelled.merge(name, 1, Integer::sum);
                                }
                            });
                })
                .start();
    }

    @AfterEach
    void stop() throws Exception {
        clients.shutdownNow();
        server.close();
    }

    private Sinks.One<String> ended(String name) {
        return ends.computeIfAbsent(name, any -> Sinks.one());
    }

    /** Calls, is asked, and returns the retry that answers. */
    private RawRequest asked(String name) {
        RawRequest call = RawRequest.modernCall("ask", ELICITS, name);
        try (RawConnection connection = RawConnection.open(server.port()).send(call)) {
            JsonNode result = connection.answer().at("/result");
            assertThat(result.at("/resultType").asString()).isEqualTo("input_required");
            String key = result.at("/inputRequests").propertyNames().iterator().next();
            return RawRequest.modern(
                    "2",
                    "tools/call",
                    "ask",
                    ELICITS,
                    "\"name\":\"ask\",\"arguments\":{\"text\":\"" + name + "\"},\"requestState\":\""
                            + result.at("/requestState").asString() + "\",\"inputResponses\":{\"" + key
                            + "\":{\"action\":\"accept\",\"content\":{\"text\":\" by " + name + "\"}}}");
        }
    }

    private RawConnection connection() {
        return RawConnection.open(server.port());
    }

    /** The answer that a connection gets; empty if it breaks before. */
    private CompletableFuture<Optional<JsonNode>> answer(RawConnection connection) {
        return CompletableFuture.supplyAsync(() -> Optional.of(connection.answer()), clients)
                .exceptionally(broken -> Optional.empty());
    }

    /** Sends a retry on both, so much apart that they may meet anywhere. */
    private void twice(RawRequest retry, RawConnection one, RawConnection other) {
        one.send(retry);
        long since = System.nanoTime();
        long apart = random.nextInt(MOST_NANOS_APART);
        while (System.nanoTime() - since < apart) {
            Thread.onSpinWait();
        }
        other.send(retry);
    }

    @Test
    void whatIsSentTwiceIsAnsweredOnceAndRunsOnce() {
        for (int round = 0; round < ROUNDS; round++) {
            String name = "r" + round;
            RawRequest retry = asked(name);
            try (RawConnection one = connection();
                    RawConnection other = connection()) {
                twice(retry, one, other);
                List<CompletableFuture<Optional<JsonNode>>> answers =
                        Stream.of(one, other).map(this::answer).toList();
                await(name + " has one connection")
                        .atMost(PATIENCE)
                        .until(() -> answers.stream()
                                        .filter(CompletableFuture::isDone)
                                        .count()
                                == 1);
                await().atMost(PATIENCE).until(() -> answered.containsKey(name));
                over.add(name);
                ended(name).tryEmitValue("over").orThrow();

                List<String> got = answers.stream()
                        .flatMap(answer -> answer.join().stream())
                        .map(JsonNode::toString)
                        .toList();
                assertThat(got).hasSize(1);
                assertThat(got.get(0)).contains("\"text\":\"over by " + name + "\"");
            }
        }
        assertThat(runs)
                .hasSize(ROUNDS)
                .allSatisfy((name, times) -> assertThat(times).isOne());
        assertThat(answered).isEqualTo(runs);
        assertThat(cancelled).isEmpty();
        if (isolation == Isolation.REQUEST) {
            await().atMost(PATIENCE).until(() -> server.holdfast().engine().size() == 0);
        } else {
            assertThat(server.holdfast().engine().stats().created())
                    .as("sessions, of which the first is free again after each call")
                    .isOne();
        }
    }

    @Test
    void whoTakesARetryOverAndLeavesCancelsTheCall() {
        RawRequest retry = asked("left");
        RawConnection one = connection();
        RawConnection other = connection();
        CompletableFuture<Optional<JsonNode>> first = answer(one.send(retry));
        await().atMost(PATIENCE).until(() -> server.holdfast().openConnections() == 1);
        CompletableFuture<Optional<JsonNode>> second = answer(other.send(retry));
        await().atMost(PATIENCE).until(first::isDone);
        assertThat(first.join()).isEmpty();
        await().atMost(PATIENCE).until(() -> answered.containsKey("left"));
        assertThat(cancelled).isEmpty();

        other.reset();

        await().atMost(CANCELLED).until(() -> cancelled.containsKey("left"));
        await().atMost(PATIENCE).until(() -> server.holdfast().engine().size() == 0);
        assertThat(second.join()).isEmpty();
        assertThat(runs).containsExactly(Map.entry("left", 1));
        one.close();
    }

    @Test
    void whoLeavesRightAfterARetryCancelsTheCall() {
        for (int round = 0; round < ROUNDS; round++) {
            String name = "gone" + round;
            RawConnection connection = connection().send(asked(name));
            long since = System.nanoTime();
            long moment = random.nextInt(MOST_NANOS_APART);
            while (System.nanoTime() - since < moment) {
                Thread.onSpinWait();
            }
            connection.reset();
        }
        await().atMost(CANCELLED).until(() -> cancelled.size() == ROUNDS);
        await().atMost(PATIENCE).until(() -> server.holdfast().engine().size() == 0);
        assertThat(server.holdfast().engine().stats().runningCalls()).isZero();
    }
}
