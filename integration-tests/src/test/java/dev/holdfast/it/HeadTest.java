package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** A client has the head of its stream, and where the stream starts, before there is anything to say. */
@Tag("timing")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class HeadTest {
    private static final Duration AT_ONCE = Duration.ofSeconds(2);
    private static final int TIMES = 5;

    private final ContainerKind kind;
    private final AtomicInteger ids = new AtomicInteger();

    HeadTest(ContainerKind kind) {
        this.kind = kind;
    }

    /** The handler waits for the test to have seen the head: were that to come with the result, neither would come. */
    @Test
    void aHandlerThatBlocksTheRequestsThreadDoesNotHoldTheHeadBack() throws Exception {
        Semaphore seen = new Semaphore(0);
        try (TestServer server = TestServer.in(kind)
                .syncServer(specification -> specification
                        .immediateExecution(true)
                        .toolCall(Tools.definition("slow"), (exchange, request) -> {
                            seen.acquireUninterruptibly();
                            return Tools.text("done");
                        }))
                .start()) {
            RawSession session = RawSession.open(server.port());
            List<RawConnection> calls = assertAtOnce(() -> session.send(session.post(Json.call(nextId(), "slow"))));

            seen.release(TIMES);

            for (RawConnection call : calls) {
                assertThat(call.message().json().at("/result/content/0/text").asString())
                        .isEqualTo("done");
                assertThat(call.messages()).isEmpty();
                call.close();
            }
        } finally {
            seen.release(TIMES);
        }
    }

    @Test
    void anEndlessCallHasItsHeadAndSoHasEveryResumptionOfIt() throws Exception {
        CompletableFuture<String> gate = new CompletableFuture<>();
        try (TestServer server = TestServer.in(kind)
                .tool("slow", (exchange, request) -> Mono.fromFuture(gate, true))
                .start()) {
            RawSession session = RawSession.open(server.port());
            RawConnection call = session.stream(session.post(Json.call("1", "slow")));
            String position = call.frame().orElseThrow().id().orElseThrow();
            call.reset();

            List<RawConnection> resumed = assertAtOnce(() -> session.send(session.get(position)));

            gate.complete("done");
            RawConnection newest = resumed.get(TIMES - 1);
            assertThat(newest.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("done");
            resumed.forEach(RawConnection::close);
        }
    }

    @Test
    void aListeningStreamHasItsHeadThoughNothingIsSent() throws Exception {
        try (TestServer server = TestServer.in(kind).start()) {
            RawSession session = RawSession.open(server.port());

            assertAtOnce(() -> session.send(session.get())).forEach(RawConnection::close);
        }
    }

    @Test
    void aQuickAnswerIsPrimedAndWholeAndMostlyOneWrite() throws Exception {
        try (TestServer server = TestServer.in(kind).start()) {
            RawSession session = RawSession.open(server.port());
            // on a busy machine the head may go ahead of some, but hardly of all
            await().until(() -> answeredInOneWrite(session));
        }
    }

    private static boolean answeredInOneWrite(RawSession session) {
        try (RawConnection call = session.stream(session.post(Json.echo("1", "hello")))) {
            String first = call.chunk();
            String whole = first + call.body();
            assertThat(call.end()).isEqualTo(RawConnection.End.IN_ORDER);
            String[] frames = whole.split("\n\n", -1);
            assertThat(frames).hasSize(3);
            assertThat(frames[2]).isEmpty();
            Frame priming = new Frame(frames[0].lines().toList());
            Frame response = new Frame(frames[1].lines().toList());
            assertThat(priming.id()).isPresent();
            assertThat(priming.retry()).isPresent();
            assertThat(priming.message()).isFalse();
            assertThat(response.id()).isPresent().isNotEqualTo(priming.id());
            assertThat(response.json().at("/result/content/0/text").asString()).isEqualTo("hello");
            return first.equals(whole);
        }
    }

    /** Opens some streams; half of them at least have their head and their priming event at once, the others soon. */
    private static List<RawConnection> assertAtOnce(Supplier<RawConnection> request) {
        List<RawConnection> connections = new ArrayList<>();
        List<Duration> times = new ArrayList<>();
        for (int i = 0; i < TIMES; i++) {
            long before = System.nanoTime();
            RawConnection connection = request.get();
            connections.add(connection);
            assertThat(connection.head().status()).isEqualTo(200);
            Frame priming = connection.frame().orElseThrow();
            times.add(Duration.ofNanos(System.nanoTime() - before));
            assertThat(priming.id()).isPresent();
            assertThat(priming.message()).isFalse();
        }
        Collections.sort(times);
        assertThat(times.get(TIMES / 2)).isLessThan(AT_ONCE);
        return connections;
    }

    private String nextId() {
        return Integer.toString(ids.incrementAndGet());
    }
}
