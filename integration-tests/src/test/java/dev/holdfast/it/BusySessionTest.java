package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.SessionLimits;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/** Requests that come at a bad time: while others of their id run, while too many run, while the server shuts down. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class BusySessionTest {
    private static final int SERVER_ERROR = -32000;
    private static final int MOST = 3;

    private final ContainerKind kind;
    private final AtomicInteger runs = new AtomicInteger();
    private final CompletableFuture<Void> gate = new CompletableFuture<>();
    private TestServer server;
    private RawSession session;

    BusySessionTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        SessionLimits defaults = SessionLimits.DEFAULT;
        SessionLimits limits = new SessionLimits(
                defaults.streamBytes(),
                defaults.streamEvents(),
                defaults.sessionBytes(),
                defaults.sessionEvents(),
                defaults.finishedStreams(),
                MOST);
        server = TestServer.in(kind)
                .options(options -> options.historyLimits(limits))
                .tool("slow", (exchange, request) -> {
                    runs.incrementAndGet();
                    return Mono.fromFuture(gate, true).thenReturn("done");
                })
                .start();
        session = RawSession.open(server.port());
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    private RawConnection running(String id) {
        int before = runs.get();
        RawConnection connection = session.stream(session.post(Json.call(id, "slow")));
        await().until(() -> runs.get() == before + 1);
        return connection;
    }

    private void assertDone(RawConnection connection, String id) {
        assertThat(connection.message().json().at("/id").toString()).isEqualTo(id);
        connection.close();
    }

    @Test
    void claudeAiMcp539_callsWithOneIdAreAnsweredEachOnItsOwnConnection() {
        RawConnection first = running("1");
        RawConnection second = running("1");
        try (RawConnection echo = session.stream(session.post(Json.echo("1", "hello")))) {
            JsonNode answer = echo.message().json();
            assertThat(answer.at("/id").asInt()).isEqualTo(1);
            assertThat(answer.at("/result/content/0/text").asString()).isEqualTo("hello");
        }

        gate.complete(null);

        assertDone(second, "1");
        assertDone(first, "1");
        assertThat(runs).hasValue(2);
    }

    @Test
    void pythonSdk3060_aCallIsResumedThoughAnotherOneHasItsId() {
        RawConnection first = running("1");
        String cursor = first.frame().orElseThrow().id().orElseThrow();
        RawConnection second = running("1");
        first.reset();

        gate.complete(null);

        assertDone(second, "1");
        assertDone(session.stream(session.get(cursor)), "1");
    }

    @Test
    void goSdk1004_aCancellationEndsTheNewestCallOfItsId() {
        RawConnection first = running("1");
        RawConnection second = running("1");

        assertThat(session.status(session.post(Json.notification("notifications/cancelled", "{\"requestId\":1}"))))
                .isEqualTo(202);

        assertThat(second.messages()).isEmpty();
        gate.complete(null);
        assertDone(first, "1");
    }

    @Test
    void theNumber1IsAnotherIdThanTheString1() {
        RawConnection number = running("1");
        RawConnection string = running("\"1\"");

        gate.complete(null);

        assertDone(number, "1");
        assertDone(string, "\"1\"");
    }

    @Test
    void anIdIsFreeAgainWhenItsCallIsDone() {
        gate.complete(null);

        assertDone(running("1"), "1");
        assertDone(running("1"), "1");
    }

    @Test
    void tooManyCallsOfOneSessionAreRefused() {
        RawConnection[] running = {running("1"), running("2"), running("3")};

        Refusal refusal = Refusal.of(server.port(), session.post(Json.call("4", "slow")))
                .assertIs(429, SERVER_ERROR, "as many calls as it may");

        assertThat(refusal.head().header("Retry-After")).isPresent();
        assertThat(refusal.json().at("/id").asInt()).isEqualTo(4);
        RawSession.open(server.port()).assertAlive();
        gate.complete(null);
        for (int i = 0; i < MOST; i++) {
            assertDone(running[i], Integer.toString(i + 1));
        }
        session.assertAlive();
    }

    @Test
    void aServerThatDrainsFinishesItsCallsAndTakesNoNewOnes() {
        RawConnection running = running("1");

        CompletionStage<Void> drained = server.holdfast().engine().drain(Duration.ofSeconds(20));

        for (RawRequest request : new RawRequest[] {
            RawRequest.post(Json.initialize(RawSession.NEWEST)), session.post(Json.call("2", "slow"))
        }) {
            Refusal refusal = Refusal.of(server.port(), request).assertIs(503, SERVER_ERROR, "shutting down");
            assertThat(refusal.head().header("Retry-After")).isPresent();
            assertThat(refusal.head().header("Connection")).hasValue("close");
        }
        gate.complete(null);
        assertDone(running, "1");
        await().until(() -> drained.toCompletableFuture().isDone());
        Refusal.of(server.port(), session.get()).assertIs(503, SERVER_ERROR, "shutting down");
    }

    @Test
    void aTerminatedSessionIsNotFound() {
        RawConnection listening = session.stream(session.get());
        RawConnection running = running("1");

        assertThat(session.status(session.delete())).isEqualTo(200);

        assertThat(running.message().json().at("/error/message").asString()).contains("terminated by the client");
        assertThat(listening.messages()).isEmpty();
        assertThat(listening.end()).isEqualTo(RawConnection.End.IN_ORDER);
        for (RawRequest request :
                new RawRequest[] {session.post(Json.echo("1", "hello")), session.get(), session.delete()}) {
            Refusal.of(server.port(), request).assertIs(404, -32001, "session not found");
        }
    }
}
