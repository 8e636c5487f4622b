package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.Lifetime;
import dev.holdfast.servlet.Isolation;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/**
 * Ids of tasks, and states of requests, that are another's, that are made up, and whose time is over are answered alike, byte for byte, and
 * take as long.
 */
@ParameterizedClass
@CsvSource({"JETTY, REQUEST", "JETTY, PRINCIPAL", "TOMCAT, REQUEST"})
@Timeout(300)
class ForeignTaskTest {
    private static final int USES = Integer.getInteger("holdfast.crossuses", 1_000);
    private static final long SEED = Long.getLong("holdfast.seed", 4_711L);
    private static final String VICTIM = "alice";
    private static final String OTHER = "mallory";
    private static final String ELICITS = "{\"elicitation\":{}}";
    private static final String TASKS = "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}";
    private static final Duration LONGEST_CALL = Duration.ofSeconds(2);
    private static final Duration RETENTION = Duration.ofSeconds(1);
    private static final Duration HALF = Duration.ofSeconds(1);
    private static final String LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    /** Why a handle opens nothing. */
    private enum Why {
        /** Another has it. */
        FOREIGN,
        /** Nobody ever had it: each of its letters is another one. */
        MADE_UP,
        /** The same but for its last part, which is hard to guess. */
        GUESSED,
        /** It was good once. */
        EXPIRED
    }

    private static final SharedServer server = new SharedServer();
    private static String expiredTask = "";
    private static String expiredState = "";

    private final ContainerKind kind;
    private final Isolation isolation;
    private final SplittableRandom random = new SplittableRandom(SEED);
    private final KeptConnection wire = new KeptConnection(server.port());
    private String task = "";
    private String state = "";
    private long begun;

    ForeignTaskTest(ContainerKind kind, Isolation isolation) {
        this.kind = kind;
        this.isolation = isolation;
    }

    @BeforeParameterizedClassInvocation
    static void start(ContainerKind kind, Isolation isolation) throws Exception {
        server.start(TestServer.in(kind)
                .filter(new UserFilter())
                .edge(edge -> edge.isolation(isolation)
                        .lifetime(Lifetime.DEFAULT.withCall(LONGEST_CALL))
                        .taskAfter(Duration.ofMillis(100))
                        .taskRetention(RETENTION))
                .tool("wait", (exchange, request) -> Mono.never())
                .tool("ask", (exchange, request) -> Tools.ask(exchange, "who?").map(result -> "answered")));
        expiredTask = begun();
        expiredState = asked();
        await().atMost(LONGEST_CALL.plus(RETENTION).multipliedBy(3))
                .until(() -> isMiss(get(OTHER, expiredTask)) && isMiss(get(VICTIM, expiredTask)));
    }

    @AfterParameterizedClassInvocation
    static void stop() throws Exception {
        server.stop();
    }

    @AfterEach
    void close() throws IOException {
        wire.close();
    }

    private static JsonNode answer(RawRequest request) {
        try (RawConnection connection = RawConnection.open(server.port()).send(request)) {
            return connection.answer();
        }
    }

    private static boolean isMiss(RawRequest request) {
        return answer(request).at("/error/code").asInt() == -32602;
    }

    private static String begun() {
        return answer(RawRequest.modernCall("wait", TASKS, "x").with(UserFilter.USER, VICTIM))
                .at("/result/taskId")
                .asString();
    }

    private static String asked() {
        return answer(RawRequest.modernCall("ask", ELICITS, "x").with(UserFilter.USER, VICTIM))
                .at("/result/requestState")
                .asString();
    }

    private static RawRequest get(String user, String task) {
        return task("tasks/get", task, "").with(UserFilter.USER, user);
    }

    private static RawRequest task(String method, String task, String more) {
        return RawRequest.modern("\"t\"", method, task, TASKS, "\"taskId\":\"" + task + "\"" + more);
    }

    private static RawRequest retry(String state) {
        return RawRequest.modern(
                "\"t\"",
                "tools/call",
                "ask",
                ELICITS,
                "\"name\":\"ask\",\"arguments\":{\"text\":\"x\"},\"requestState\":\"" + state
                        + "\",\"inputResponses\":{}");
    }

    /** What can be asked with an id, and with a state. */
    private static final List<Function<String, RawRequest>> OF_TASKS = List.of(
            id -> task("tasks/get", id, ""),
            id -> task("tasks/update", id, ",\"inputResponses\":{\"q2\":{}}"),
            id -> task("tasks/cancel", id, ""));

    /** What is another's is not to expire meanwhile. */
    private void keepAnothers() {
        if (task.isEmpty() || System.nanoTime() - begun > HALF.toNanos()) {
            begun = System.nanoTime();
            task = begun();
            state = asked();
        }
    }

    /** A request that shall miss: a victim's handle in the hands of another, or the victim's own that is not good. */
    private RawRequest miss(Why why, Function<String, RawRequest> use, String anothers, String expired) {
        return switch (why) {
            case FOREIGN -> use.apply(anothers).with(UserFilter.USER, OTHER);
            case MADE_UP -> use.apply(another(anothers, true)).with(UserFilter.USER, VICTIM);
            case GUESSED -> use.apply(another(anothers, false)).with(UserFilter.USER, VICTIM);
            case EXPIRED -> use.apply(expired).with(UserFilter.USER, VICTIM);
        };
    }

    /** Another nonce, and another session if wanted. */
    private String another(String handle, boolean session) {
        int first = handle.indexOf('.');
        int last = handle.lastIndexOf('.');
        return (session ? letters(first) : handle.substring(0, first))
                + handle.substring(first, last + 1)
                + letters(handle.length() - last - 1);
    }

    private String letters(int count) {
        return random.ints(count, 0, LETTERS.length())
                .mapToObj(letter -> LETTERS.substring(letter, letter + 1))
                .collect(Collectors.joining());
    }

    @Test
    void eachIsAnsweredInTheSameWay() throws IOException {
        KeptConnection.Outcome expected = null;
        for (int use = 0; use < USES / 20; use++) {
            keepAnothers();
            for (Why why : Why.values()) {
                for (Function<String, RawRequest> ofTask : OF_TASKS) {
                    KeptConnection.Outcome outcome = wire.ask(miss(why, ofTask, task, expiredTask));
                    expected = expected == null ? outcome : expected;
                    assertThat(outcome).as("%s", why).isEqualTo(expected);
                }
            }
        }
        assertThat(String.valueOf(expected))
                .contains("-32602", "Task not found")
                .doesNotContain(expiredTask);

        task = begun(); // one that is not over yet
        for (Function<String, RawRequest> ofTask : OF_TASKS) {
            assertThat(wire.ask(miss(Why.FOREIGN, ofTask, task, expiredTask))).isEqualTo(expected);
        }
        assertThat(answer(get(VICTIM, task)).at("/result/status").asString())
                .as("the task of which all of this was asked")
                .isEqualTo("working");
    }

    @Test
    void eachRetryIsAnsweredInTheSameWay() throws IOException {
        KeptConnection.Outcome expected = null;
        for (int use = 0; use < USES / 20; use++) {
            keepAnothers();
            for (Why why : Why.values()) {
                KeptConnection.Outcome outcome = wire.ask(miss(why, ForeignTaskTest::retry, state, expiredState));
                expected = expected == null ? outcome : expected;
                assertThat(outcome).as("%s", why).isEqualTo(expected);
            }
        }
        assertThat(String.valueOf(expected)).contains("-32602", "requestState names no request");
    }

    @Test
    void eachTakesAsLong() throws IOException {
        for (Why why : List.of(Why.FOREIGN, Why.EXPIRED)) {
            AnswerTimes times = new AnswerTimes(USES / 10, USES / 5);
            for (int i = 0; i < USES / 10 + USES / 5; i++) {
                keepAnothers();
                Function<String, RawRequest> get = OF_TASKS.get(0);
                times.round(
                        wire::ask,
                        miss(Why.MADE_UP, get, task, expiredTask),
                        miss(Why.MADE_UP, get, task, expiredTask),
                        miss(why, get, task, expiredTask));
            }
            System.out.printf("%s %s, %s: %s%n", kind, isolation, why, times);
            if (why == Why.FOREIGN) {
                times.assertAlike(why.toString());
            } else {
                // whose it was may be told by some microseconds that its session is still there
                times.assertClose(why.toString());
            }
        }
    }
}
