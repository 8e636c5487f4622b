package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.EndReason;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** python-sdk 1227: a client that left stayed in the list of sessions for ever. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class PythonSdk1227Test {
    /** With two containers and two ways to leave, 100 in all. */
    private static final int CLIENTS = 25;

    private static final Duration HEARTBEAT = Duration.ofSeconds(1);
    /** Two heartbeats on an idle machine. */
    private static final Duration SOON = HEARTBEAT.multipliedBy(10);

    private final ContainerKind kind;

    @AutoClose
    private final Witness witness = new Witness();

    private final LifecycleRecorder lifecycle = new LifecycleRecorder();
    private final AtomicInteger running = new AtomicInteger();
    private final AtomicInteger disposed = new AtomicInteger();
    private TestServer server;

    PythonSdk1227Test(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .options(options ->
                        options.sseEndpoint("/sse").heartbeatInterval(HEARTBEAT).sessionLifecycleListener(lifecycle))
                .tool(
                        "endless",
                        (exchange, request) -> Mono.<String>never()
                                .doOnSubscribe(subscription -> running.incrementAndGet())
                                .doOnCancel(disposed::incrementAndGet))
                .filter(witness.completions())
                .start();
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
        witness.assertNoComplaint();
    }

    @ParameterizedTest
    @EnumSource
    void pythonSdk1227_aClientThatLeavesTakesItsSessionWithIt(Breakage breakage) throws Exception {
        Set<String> left = ConcurrentHashMap.newKeySet();
        Parallel.times(CLIENTS, i -> {
            RawSseSession session = RawSseSession.open(server.port());
            left.add(session.id());

            breakage.happenTo(session.stream());

            await().atMost(SOON)
                    .untilAsserted(() -> assertThat(lifecycle.ends()).containsKey(session.id()));
        });

        assertThat(lifecycle.ends().keySet()).isEqualTo(left);
        assertThat(lifecycle.ends().values()).containsOnly(EndReason.DISCONNECTED);
        assertThat(lifecycle.closed()).doesNotHaveDuplicates();
        await().until(() -> server.holdfast().engine().size() == 0);
        await().until(() -> server.holdfast().openConnections() == 0);
    }

    @ParameterizedTest
    @EnumSource
    void pythonSdk1227_itsRunningCallsAreDisposedOf(Breakage breakage) {
        RawSseSession session = RawSseSession.open(server.port());
        session.send(Json.call("1", "endless"));
        session.send(Json.call("2", "endless"));
        await().until(() -> running.get() == 2);

        breakage.happenTo(session.stream());

        await().atMost(SOON).until(() -> disposed.get() == 2);
        await().until(() -> server.holdfast().engine().size() == 0);
    }

    @ParameterizedTest
    @EnumSource
    void pythonSdk1227_aClientThatLeavesBeforeItInitializesLeavesNothingBehind(Breakage breakage) {
        RawSseSession session = RawSseSession.connect(server.port());
        assertThat(server.holdfast().engine().size()).isEqualTo(1);

        breakage.happenTo(session.stream());

        await().atMost(SOON).until(() -> server.holdfast().engine().size() == 0);
        session.assertGone();
    }

    @ParameterizedTest
    @EnumSource
    void pythonSdk1227_aClientThatLeavesAmongTheServersMessagesIsFoundOut(Breakage breakage) {
        RawSseSession session = RawSseSession.open(server.port());
        try (SteadySender sender = new SteadySender(server)) {
            assertThat(session.receive().at("/params/data").asString()).isEqualTo("steady 0");

            breakage.happenTo(session.stream());

            await().atMost(SOON).until(() -> server.holdfast().engine().size() == 0);
        }
        await().untilAsserted(() -> assertThat(lifecycle.ends()).containsEntry(session.id(), EndReason.DISCONNECTED));
    }

    @Test
    void aClientThatStaysIsKept() {
        try (RawSseSession stays = RawSseSession.open(server.port())) {
            RawSseSession.open(server.port()).stream().reset();

            Parallel.pass(HEARTBEAT.multipliedBy(2));

            await().until(() -> server.holdfast().engine().size() == 1);
            stays.assertAlive();
        }
    }
}
