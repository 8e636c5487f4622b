package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** A cancelled call stops its handler, and its stream ends without a response. A lost connection is another matter. */
@Tag("sdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class CancellationTest {
    private final ContainerKind kind;
    private final AtomicInteger running = new AtomicInteger();
    private final AtomicInteger stopped = new AtomicInteger();

    CancellationTest(ContainerKind kind) {
        this.kind = kind;
    }

    @Test
    void aCancelledCallDisposesOfItsHandlerAndEndsWithoutAResponse() throws Exception {
        CompletableFuture<String> gate = new CompletableFuture<>();
        try (TestServer server = server(gate)) {
            RawSession session = RawSession.open(server.port());
            try (RawConnection calling = session.stream(session.post(Json.call("7", "slow")))) {
                String position = calling.frame().orElseThrow().id().orElseThrow();
                await().until(() -> running.get() == 1);

                cancel(session, "7");

                await().until(() -> stopped.get() == 1);
                assertEndsWithoutAResponse(calling);
                assertThat(session.status(session.get(position))).isEqualTo(204);
            }
            session.assertAlive();
        }
    }

    @Test
    void theCallsBesideACancelledOneGoOn() throws Exception {
        CompletableFuture<String> gate = new CompletableFuture<>();
        try (TestServer server = server(gate)) {
            RawSession session = RawSession.open(server.port());
            RawSession other = RawSession.open(server.port());
            try (RawConnection cancelled = session.stream(session.post(Json.call("7", "slow")));
                    RawConnection beside = session.stream(session.post(Json.call("\"7\"", "slow")));
                    RawConnection foreign = other.stream(other.post(Json.call("7", "slow")))) {
                await().until(() -> running.get() == 3);

                cancel(session, "7");

                assertEndsWithoutAResponse(cancelled);
                gate.complete("done");
                assertThat(beside.message().json().at("/id").asString()).isEqualTo("7");
                assertThat(foreign.message().json().at("/id").asInt()).isEqualTo(7);
                await().until(() -> stopped.get() == 1);
            }
        }
    }

    @Test
    void aCallWhoseConnectionIsLostCanBeCancelled() throws Exception {
        CompletableFuture<String> gate = new CompletableFuture<>();
        try (TestServer server = server(gate)) {
            RawSession session = RawSession.open(server.port());
            RawConnection calling = session.stream(session.post(Json.call("7", "slow")));
            String position = calling.frame().orElseThrow().id().orElseThrow();
            await().until(() -> running.get() == 1);
            calling.reset();
            session.assertAlive();
            assertThat(stopped).hasValue(0);

            cancel(session, "7");

            await().until(() -> stopped.get() == 1);
            assertThat(session.status(session.get(position))).isEqualTo(204);
        }
    }

    /** What the SDK does for a synchronous handler: it interrupts the thread that it gave it. */
    @Test
    void aSynchronousHandlerIsInterrupted() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        try (TestServer server = TestServer.in(kind)
                .syncServer(specification -> specification.toolCall(Tools.definition("slow"), (exchange, request) -> {
                    running.incrementAndGet();
                    try {
                        never.await();
                    } catch (InterruptedException e) {
                        stopped.incrementAndGet();
                    }
                    return Tools.text("late");
                }))
                .start()) {
            RawSession session = RawSession.open(server.port());
            try (RawConnection calling = session.stream(session.post(Json.call("7", "slow")))) {
                await().until(() -> running.get() == 1);

                cancel(session, "7");

                await().until(() -> stopped.get() == 1);
                assertEndsWithoutAResponse(calling);
            }
            session.assertAlive();
        }
    }

    /** On the request's own thread nothing stops a handler, and the container ends no response that its thread is still inside. */
    @Test
    void aHandlerOnTheRequestsThreadIsLeftToItselfAndItsResultIsDropped() throws Exception {
        Semaphore gate = new Semaphore(0);
        try (TestServer server = TestServer.in(kind)
                .syncServer(specification -> specification
                        .immediateExecution(true)
                        .toolCall(Tools.definition("slow"), (exchange, request) -> {
                            running.incrementAndGet();
                            gate.acquireUninterruptibly();
                            stopped.incrementAndGet();
                            return Tools.text("late");
                        }))
                .start()) {
            RawSession session = RawSession.open(server.port());
            try (RawConnection calling = session.stream(session.post(Json.call("7", "slow")))) {
                await().until(() -> running.get() == 1);

                cancel(session, "7");

                assertThat(stopped).hasValue(0);
                gate.release();
                assertEndsWithoutAResponse(calling);
                assertThat(stopped).hasValue(1);
            } finally {
                gate.release();
            }
            session.assertAlive();
        }
    }

    private TestServer server(CompletableFuture<String> gate) throws Exception {
        return TestServer.in(kind)
                .tool(
                        "slow",
                        (exchange, request) -> Mono.fromFuture(gate, true)
                                .doOnSubscribe(subscription -> running.incrementAndGet())
                                .doOnCancel(stopped::incrementAndGet))
                .start();
    }

    private static void cancel(RawSession session, String id) {
        String params = "{\"requestId\":" + id + ",\"reason\":\"enough\"}";
        assertThat(session.status(session.post(Json.notification("notifications/cancelled", params))))
                .isEqualTo(202);
    }

    private static void assertEndsWithoutAResponse(RawConnection connection) {
        assertThat(connection.messages()).isEmpty();
        assertThat(connection.end()).isEqualTo(RawConnection.End.IN_ORDER);
    }
}
