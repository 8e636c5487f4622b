package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.EngineStats;
import dev.holdfast.mcp.HoldfastRequest;
import dev.holdfast.rocksdb.RocksDbStore;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.Implementation;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** A server of the SDK whose sessions are kept on disk: they outlive it, and need not stay in its memory. */
@Tag("sdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(60)
class DurableSdkTest {
    private static final Duration PARK_AFTER = Duration.ofSeconds(10);
    /** How soon a broken connection is found out. */
    private static final Duration HEARTBEAT = Duration.ofMillis(200);

    private final ContainerKind kind;
    private final Witness witness = new Witness();
    private final LifecycleRecorder lifecycle = new LifecycleRecorder();
    private final Queue<Seen> seen = new ConcurrentLinkedQueue<>();

    @TempDir
    Path folder;

    private RocksDbStore store;
    private TestServer server;
    private RawSession session;

    /**
     * What a handler sees of its session.
     *
     * @param id the session id by our own account
     * @param inner the session id by the SDK's account
     * @param client something that the SDK's session holds for as long as it is there itself, and nobody else does
     */
    private record Seen(String id, String inner, WeakReference<Implementation> client) {
        private static Seen in(McpAsyncServerExchange exchange) {
            return new Seen(
                    HoldfastRequest.of(exchange.transportContext()).sessionId(),
                    exchange.sessionId(),
                    new WeakReference<>(exchange.getClientInfo()));
        }
    }

    DurableSdkTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        open();
        session = RawSession.open(server.port());
    }

    private void open() throws Exception {
        store = RocksDbStore.builder(folder).open();
        server = TestServer.in(kind)
                .options(options -> options.store(store)
                        .parkAfter(PARK_AFTER)
                        .heartbeatInterval(HEARTBEAT)
                        .sessionLifecycleListener(lifecycle))
                .tool("look", (exchange, request) -> {
                    seen.add(Seen.in(exchange));
                    return Mono.just("looked");
                })
                .filter(witness.completions())
                .start();
    }

    private void restart() throws Exception {
        close();
        open();
        session = session.movedTo(server.port());
    }

    private void close() throws Exception {
        server.close();
        store.close();
    }

    @AfterEach
    void stop() throws Exception {
        close();
        witness.close();
        witness.assertNoComplaint();
    }

    @Test
    void aCallWithAnIdOfBeforeTheRestartIsAnswered() throws Exception {
        session.assertAlive();

        restart();

        session.assertAlive();
        assertThat(lifecycle.restored()).containsExactly(session.id());
        assertThat(stats().created()).isZero();
    }

    @Test
    void aStreamResumedAfterTheRestartGetsWhatItMissedAndWhatIsSentFromThenOn() throws Exception {
        String last;
        try (RawConnection before = session.stream(session.get())) {
            server.log("before");
            last = before.message().id().orElseThrow();
        }
        server.log("missed");

        restart();

        try (RawConnection after = session.stream(session.get(last))) {
            server.log("after");
            server.log(session, "to it alone");
            assertNext(after, "missed");
            assertNext(after, "after");
            assertNext(after, "to it alone");
        }
    }

    @Test
    void afterTheRestartAMessageToEitherIdReachesItsClientAndNoOther() throws Exception {
        restart();
        Seen here = look();
        RawSession other = RawSession.open(server.port());

        assertThat(here.id()).isEqualTo(session.id());
        assertThat(here.inner()).isNotEqualTo(session.id());
        try (RawConnection listening = session.stream(session.get());
                RawConnection bystander = other.stream(other.get())) {
            server.log(here.id(), "to the client's id");
            server.log(here.inner(), "to the SDK's id");
            server.log("to all");
            assertNext(listening, "to the client's id");
            assertNext(listening, "to the SDK's id");
            assertNext(listening, "to all");
            assertNext(bystander, "to all");
        }
    }

    @Test
    void aParkedSessionLeavesNothingOfTheSdkInMemoryAndItsNextCallBringsItBack() {
        Seen before = look();
        RawConnection listening = session.stream(session.get());
        server.log("before");
        String last = listening.message().id().orElseThrow();
        assertThat(collected(before)).isFalse();

        listening.reset();

        await().atMost(PARK_AFTER.multipliedBy(2))
                .until(() -> !lifecycle.parked().isEmpty());
        assertThat(lifecycle.parked()).containsExactly(session.id());
        assertThat(stats()).returns(1, EngineStats::parked).returns(0, EngineStats::sessions);
        await("the SDK's session leaves memory").until(() -> collected(before));

        Seen after = look();
        assertThat(after.id()).isEqualTo(session.id());
        assertThat(after.inner()).isNotEqualTo(before.inner());
        assertThat(stats()).returns(0, EngineStats::parked).returns(1, EngineStats::sessions);
        assertThat(lifecycle.restored()).containsExactly(session.id());
        assertThat(lifecycle.closed()).isEmpty();
        try (RawConnection again = session.stream(session.get(last))) {
            server.log(session, "after");
            assertNext(again, "after");
        }
    }

    private EngineStats stats() {
        return server.holdfast().engine().stats();
    }

    /** Lets a handler look. */
    private Seen look() {
        try (RawConnection call = session.stream(session.post(Json.call("1", "look")))) {
            assertThat(call.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("looked");
        }
        return seen.remove();
    }

    /** Whether the SDK's session that a handler saw is gone from memory. */
    private static boolean collected(Seen seen) {
        System.gc();
        return seen.client().refersTo(null);
    }

    private static void assertNext(RawConnection connection, String text) {
        assertThat(connection.message().json().at("/params/data").asString()).isEqualTo(text);
    }
}
