package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.servlet.Authenticator;
import dev.holdfast.servlet.ConnectionReset;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** Faults that nobody foresees, at every stage of a request: it is answered, and nothing stays behind. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class EdgeFaultTest {
    private static final int INTERNAL_ERROR = -32603;
    private static final String FAIL = "X-Fail";

    private final ContainerKind kind;
    private final LifecycleRecorder recorder = new LifecycleRecorder();
    private final CompletableFuture<String> called = new CompletableFuture<>();

    EdgeFaultTest(ContainerKind kind) {
        this.kind = kind;
    }

    private TestServer.Builder server() {
        return TestServer.in(kind)
                .options(options -> options.sseEndpoint("/sse").sessionLifecycleListener(recorder))
                .tool(
                        "note",
                        (exchange, request) -> Mono.fromSupplier(() -> {
                            called.complete("called");
                            return "noted";
                        }));
    }

    private static void assertInternalError(RawConnection connection) {
        Refusal.of(connection).assertIs(500, INTERNAL_ERROR, "internal error");
    }

    @Test
    void anErrorOnTheRequestsThreadIsAnswered() throws Exception {
        try (LogCapture log = new LogCapture();
                TestServer server = server().edge(options -> options.authenticator(request -> {
                            if (request.getHeader(FAIL) != null) {
                                throw new StackOverflowError("by the test");
                            }
                            return new Authenticator.Known("");
                        }))
                        .start()) {
            RawSession session = RawSession.open(server.port());
            try (RawConnection connection = session.send(session.get().with(FAIL, "yes"))) {
                assertInternalError(connection);
            }
            session.assertAlive();
            assertThat(log.complaints()).hasSize(1);
        }
    }

    @Test
    void nullOfAnAuthenticatorLetsNobodyIn() throws Exception {
        try (LogCapture log = new LogCapture();
                TestServer server = server().edge(options -> options.authenticator(nullable()))
                        .start()) {
            RawSession session = RawSession.open(server.port());
            try (RawConnection connection = session.send(session.get().with(FAIL, "yes"))) {
                assertInternalError(connection);
            }
            session.assertAlive();
            assertThat(log.complaints()).hasSize(1);
        }
    }

    @SuppressWarnings("NullAway")
    private static Authenticator nullable() {
        return request -> request.getHeader(FAIL) == null ? new Authenticator.Known("") : null;
    }

    @Test
    void anErrorAfterABodyThatCameLateIsAnswered() throws Exception {
        byte[] body = Json.call("1", "note").getBytes(UTF_8);
        try (LogCapture log = new LogCapture();
                TestServer server = server().edge(options -> options.connectionReset(failing()))
                        .start()) {
            RawSession session = RawSession.open(server.port());
            RawRequest begun = session.post(Arrays.copyOf(body, 5))
                    .with("Content-Length", Integer.toString(body.length))
                    .with(FAIL, "yes");
            try (RawConnection connection = session.send(begun)) {
                session.assertAlive();
                connection.write(Arrays.copyOfRange(body, 5, body.length));
                assertInternalError(connection);
            }
            session.assertAlive();
            assertThat(log.complaints()).hasSize(1);
        }
    }

    private static ConnectionReset failing() {
        return request -> {
            if (request.getHeader(FAIL) != null) {
                throw new StackOverflowError("by the test");
            }
            return () -> {};
        };
    }

    @Test
    void anErrorBeforeAStreamBeginsIsAnsweredAndItsReaderIsClosed() throws Exception {
        try (LogCapture log = new LogCapture();
                TestServer server = server().edge(options -> options.connectionReset(failing()))
                        .start()) {
            RawSession session = RawSession.open(server.port());
            try (RawConnection connection = session.send(session.get().with(FAIL, "yes"))) {
                assertInternalError(connection);
            }
            await().until(() -> recorder.detached().contains(session.id()));

            try (RawConnection connection =
                    session.send(session.post(Json.call("1", "note")).with(FAIL, "yes"))) {
                assertInternalError(connection);
            }
            assertThat(called.get(20, TimeUnit.SECONDS)).isEqualTo("called");
            session.assertAlive();
            assertThat(log.complaints()).hasSize(2);
        }
    }

    @Test
    void anErrorBeforeTheOneStreamOfASessionBeginsEndsTheSession() throws Exception {
        try (LogCapture log = new LogCapture();
                TestServer server = server().edge(options -> options.connectionReset(failing()))
                        .start()) {
            try (RawConnection connection =
                    RawConnection.open(server.port()).send(RawSseSession.get().with(FAIL, "yes"))) {
                assertInternalError(connection);
            }
            await().until(() -> recorder.closed().size() == 1);
            assertThat(log.complaints()).hasSize(1);
        }
    }

    /** A container says so by an {@link IllegalStateException} of the request, or where it takes no more work. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallWhoseClientLeftBeforeItWasInTheLogRunsNevertheless(boolean refused) throws Exception {
        RuntimeException fault =
                refused ? new RejectedExecutionException("by the test") : new IllegalStateException("by the test");
        try (SlowStore store = new SlowStore(Duration.ofMillis(50));
                TestServer server = server().filter(new LeavingFilter(FAIL, fault))
                        // with a grace period no POST waits for a proof that its client is there: it would leave there
                        // already
                        .options(options -> options.sseEndpoint("/sse")
                                .sseReconnectGracePeriod(Duration.ofSeconds(30))
                                .store(store.asStore()))
                        .start();
                RawSseSession session = RawSseSession.open(server.port());
                RawConnection connection = RawConnection.open(server.port())) {
            connection.send(session.post(Json.call("1", "note")).with(FAIL, "yes"));
            assertThat(called.get(20, TimeUnit.SECONDS)).isEqualTo("called");
            assertThat(session.receive().path("id").asString()).isEqualTo("1");
            session.assertAlive();
        }
    }
}
