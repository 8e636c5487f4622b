package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.EndReason;
import dev.holdfast.NodeLimits;
import dev.holdfast.Refusal;
import dev.holdfast.SessionState;
import dev.holdfast.mcp.HoldfastTransportProviderBuilder;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** What a server holds for all its clients together, as a client sees it that meets the bound. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class NodeBoundsTest {
    private static final int SERVER_ERROR = -32000;

    private final ContainerKind kind;
    private final CompletableFuture<Void> gate = new CompletableFuture<>();
    private TestServer server;

    NodeBoundsTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        start(UnaryOperator.identity());
    }

    private void start(UnaryOperator<HoldfastTransportProviderBuilder> more) throws Exception {
        server = TestServer.in(kind)
                .options(options -> more.apply(
                        options.nodeLimits(NodeLimits.DEFAULT.withSessions(3).withRunningCalls(2))
                                .sseEndpoint("/sse")
                                .heartbeatInterval(Duration.ofMillis(200))))
                .tool("slow", (exchange, request) -> Mono.fromFuture(gate, true).thenReturn("done"))
                .start();
    }

    @AfterEach
    void stop() throws Exception {
        gate.complete(null);
        server.close();
    }

    private void startAgain(UnaryOperator<HoldfastTransportProviderBuilder> more) throws Exception {
        server.close();
        start(more);
    }

    private long ended(EndReason reason) {
        return server.holdfast().engine().stats().ended().getOrDefault(reason, -1L);
    }

    @Test
    void aNewSessionTakesThePlaceOfTheOneThatIsDetachedForLongest() {
        RawSession idle = RawSession.open(server.port());
        RawSession detached = RawSession.open(server.port());
        RawSession attached = RawSession.open(server.port());
        RawConnection listening = attached.stream(attached.get());
        RawConnection broken = detached.stream(detached.get());
        broken.reset();
        await().until(() -> server.holdfast().engine().stats().states().getOrDefault(SessionState.DETACHED, 0) == 1);

        RawSession fresh = RawSession.open(server.port());

        detached.assertGone();
        fresh.assertAlive();
        attached.assertAlive();
        idle.assertAlive();
        assertThat(ended(EndReason.EVICTED)).isOne();
        listening.close();
    }

    @Test
    void aStormOfInitializeHurtsNobodyElse() {
        RawSession attached = RawSession.open(server.port());
        RawConnection listening = attached.stream(attached.get());
        RawSession idle = RawSession.open(server.port());

        for (int i = 0; i < 100; i++) {
            try (RawConnection one =
                    RawConnection.open(server.port()).send(RawRequest.post(Json.initialize(RawSession.NEWEST)))) {
                assertThat(one.head().status()).isEqualTo(200);
            }
        }

        idle.assertAlive();
        attached.assertAlive();
        assertThat(ended(EndReason.EVICTED)).isEqualTo(99);
        listening.close();
    }

    @Test
    void whenNobodyCanMakeRoomTheNewSessionIsRefused() {
        RawConnection[] listening = new RawConnection[3];
        for (int i = 0; i < 3; i++) {
            RawSession session = RawSession.open(server.port());
            listening[i] = session.stream(session.get());
        }

        dev.holdfast.it.Refusal refused = dev.holdfast.it.Refusal.of(
                        server.port(), RawRequest.post(Json.initialize(RawSession.NEWEST)))
                .assertIs(503, SERVER_ERROR, "as many sessions as it may");
        assertThat(refused.head().header("Retry-After")).isPresent();
        dev.holdfast.it.Refusal.of(server.port(), RawRequest.get().to("/sse"))
                .assertIs(503, SERVER_ERROR, "as many sessions as it may");

        for (RawConnection connection : listening) {
            connection.close();
        }
        assertThat(ended(EndReason.EVICTED)).isZero();
    }

    @Test
    void tooManyCallsOfAllSessionsAreRefused() {
        RawSession one = RawSession.open(server.port());
        RawSession other = RawSession.open(server.port());
        RawConnection first = one.stream(one.post(Json.call("1", "slow")));
        RawConnection second = one.stream(one.post(Json.call("2", "slow")));

        dev.holdfast.it.Refusal.of(server.port(), other.post(Json.call("1", "slow")))
                .assertIs(503, SERVER_ERROR, "as many calls as it may");

        gate.complete(null);
        assertThat(first.message().json().at("/result").isMissingNode()).isFalse();
        assertThat(second.message().json().at("/result").isMissingNode()).isFalse();
        other.assertAlive();
    }

    @Test
    void aCallThatTakesTooLongIsAnsweredWithAnError() throws Exception {
        startAgain(options -> options.maxCallDuration(Duration.ofSeconds(3)));
        RawSession session = RawSession.open(server.port());

        try (RawConnection call = session.stream(session.post(Json.call("1", "slow")))) {
            assertThat(call.message().json().at("/error/message").asString())
                    .isEqualTo("the call took longer than 3 s");
            assertThat(call.messages()).isEmpty();
            assertThat(call.end()).isEqualTo(RawConnection.End.IN_ORDER);
        }
        assertThat(server.holdfast().engine().stats().timedOut()).isOne();
        session.assertAlive();
    }

    @Test
    void aSessionThatNobodyUsesIsGoneSoon() throws Exception {
        startAgain(options -> options.initializationTimeout(Duration.ofSeconds(4)));
        RawSession used = RawSession.open(server.port());
        try (RawConnection one =
                RawConnection.open(server.port()).send(RawRequest.post(Json.initialize(RawSession.NEWEST)))) {
            assertThat(one.head().status()).isEqualTo(200);
        }

        await().until(() -> ended(EndReason.EXPIRED) == 1);

        used.assertAlive();
        await().until(() -> server.holdfast().engine().size() == 1);
    }

    @Test
    void aClientOfHttpSseThatNeverInitializesIsSentAway() throws Exception {
        startAgain(options -> options.initializationTimeout(Duration.ofSeconds(4)));
        try (RawConnection silent =
                        RawConnection.open(server.port()).send(RawRequest.get().to("/sse"));
                RawSseSession session = RawSseSession.open(server.port())) {
            assertThat(silent.head().status()).isEqualTo(200);

            await().until(() -> server.holdfast().engine().size() == 1);

            session.assertAlive();
        }
    }

    @Test
    void refusalsAreCounted() {
        RawSession session = RawSession.open(server.port());
        RawConnection first = session.stream(session.post(Json.call("1", "slow")));
        RawConnection second = session.stream(session.post(Json.call("2", "slow")));
        assertThat(session.status(session.post(Json.call("3", "slow")))).isEqualTo(503);

        assertThat(server.holdfast().engine().stats().refused())
                .containsEntry(Refusal.NODE_CALLS, 1L)
                .containsEntry(Refusal.SESSIONS, 0L);
        gate.complete(null);
        first.close();
        second.close();
    }
}
