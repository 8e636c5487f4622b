package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** java-sdk 952: a client that lost the connection of a call lost its result, and its session with it. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class JavaSdk952Test {
    private static final int MORE_STEPS = 4;

    private final ContainerKind kind;

    @AutoClose
    private final Witness witness = new Witness();

    private final AtomicInteger runs = new AtomicInteger();
    private final CompletableFuture<Void> gate = new CompletableFuture<>();
    private final CompletableFuture<Void> finished = new CompletableFuture<>();
    private final List<Throwable> failures = new CopyOnWriteArrayList<>();
    private TestServer server;
    private RawSession session;

    JavaSdk952Test(ContainerKind kind) {
        this.kind = kind;
    }

    /** The server under test. */
    TestServer.Builder server() {
        return TestServer.in(kind);
    }

    @BeforeEach
    void start() throws Exception {
        server = server().filter(witness.completions()).tool("slow", this::slow).start();
        session = RawSession.open(server.port());
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
        witness.assertNoComplaint();
    }

    /** Reports step 1, waits, reports the other steps, and answers with the count of its runs. */
    private Mono<String> slow(McpAsyncServerExchange exchange, CallToolRequest request) {
        int run = runs.incrementAndGet();
        return Tools.progress(exchange, request, 1)
                .then(Mono.fromFuture(gate, true))
                .thenMany(Flux.range(2, MORE_STEPS))
                .concatMap(step -> Tools.progress(exchange, request, step))
                .doOnError(failures::add)
                .doOnComplete(() -> finished.complete(null))
                .then(Mono.just("run " + run));
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk952_aBrokenPostKeepsTheSession(Breakage breakage) {
        callUpToStep1(breakage);
        gate.complete(null);
        await().until(() -> finished.isDone() || !failures.isEmpty());

        session.assertAlive();
        witness.assertQuiet(1);
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk952_aBrokenConnectionFailsNoHandler(Breakage breakage) {
        callUpToStep1(breakage);
        gate.complete(null);
        await().until(() -> finished.isDone() || !failures.isEmpty());

        assertAllWell();
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk952_theResultOfABrokenPostArrivesWhileTheCallRuns(Breakage breakage) {
        Frame last = callUpToStep1(breakage);

        try (RawConnection again = session.stream(session.get(last.id().orElseThrow()))) {
            assertRepeats(last, again.frame().orElseThrow());
            gate.complete(null);
            assertRestOfTheCall(again);
        }
        assertAllWell();
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk952_theResultOfABrokenPostArrivesAfterTheCallHasEnded(Breakage breakage) {
        Frame last = callUpToStep1(breakage);
        gate.complete(null);
        await().until(finished::isDone);
        session.assertAlive();

        try (RawConnection again = session.stream(session.get(last.id().orElseThrow()))) {
            assertRepeats(last, again.frame().orElseThrow());
            assertRestOfTheCall(again);
        }
        assertAllWell();
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk952_theResultArrivesThoughOnlyThePrimingEventWasSeen(Breakage breakage) {
        RawConnection broken = session.stream(session.post(Json.callWithProgress("7", "slow")));
        Frame priming = broken.frame().orElseThrow();
        breakage.happenTo(broken);
        gate.complete(null);

        try (RawConnection again = session.stream(session.get(priming.id().orElseThrow()))) {
            assertRepeats(priming, again.frame().orElseThrow());
            assertThat(again.message().json().at("/params/progress").asInt()).isEqualTo(1);
            assertRestOfTheCall(again);
        }
        assertAllWell();
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk952_aResumedStreamThatBreaksIsResumedOnceMore(Breakage breakage) {
        Frame last = callUpToStep1(breakage);
        for (int i = 0; i < 3; i++) {
            RawConnection resumed = session.stream(session.get(last.id().orElseThrow()));
            assertRepeats(last, resumed.frame().orElseThrow());
            breakage.happenTo(resumed);
        }
        gate.complete(null);

        try (RawConnection again = session.stream(session.get(last.id().orElseThrow()))) {
            assertRestOfTheCall(again);
        }
        assertThat(runs).hasValue(1);
        session.assertAlive();
        witness.assertQuiet(4);
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk952_aClientThatHasEverythingIsToldToStop(Breakage breakage) {
        Frame last = callUpToStep1(breakage);
        gate.complete(null);
        List<Frame> rest;
        try (RawConnection again = session.stream(session.get(last.id().orElseThrow()))) {
            rest = again.messages();
        }
        String end = rest.get(rest.size() - 1).id().orElseThrow();

        assertThat(session.status(session.get(end))).isEqualTo(204);
        assertThat(session.status(session.get(end))).isEqualTo(204);
        assertAllWell();
    }

    private Frame callUpToStep1(Breakage breakage) {
        RawConnection broken = session.stream(session.post(Json.callWithProgress("7", "slow")));
        Frame step = broken.message();
        assertThat(step.json().at("/params/progress").asInt()).isEqualTo(1);
        breakage.happenTo(broken);
        return step;
    }

    private static void assertRepeats(Frame last, Frame first) {
        assertThat(first.id()).isEqualTo(last.id());
        assertThat(first.message()).isFalse();
    }

    private static void assertRestOfTheCall(RawConnection connection) {
        List<Frame> frames = connection.messages();
        assertThat(connection.end()).isEqualTo(RawConnection.End.IN_ORDER);
        assertThat(frames).hasSize(MORE_STEPS + 1);
        for (int i = 0; i < MORE_STEPS; i++) {
            assertThat(frames.get(i).json().at("/params/progress").asInt()).isEqualTo(i + 2);
        }
        Frame result = frames.get(MORE_STEPS);
        assertThat(result.json().at("/id").asInt()).isEqualTo(7);
        assertThat(result.json().at("/result/content/0/text").asString()).isEqualTo("run 1");
    }

    private void assertAllWell() {
        assertThat(runs).hasValue(1);
        assertThat(failures).isEmpty();
        session.assertAlive();
        witness.assertQuiet(1);
    }
}
