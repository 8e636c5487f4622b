package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.mcp.HoldfastRequest;
import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** What a handler learns of the request it serves, and what it can ask of the connection. */
@Tag("sdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class ContextTest {
    private static final Duration BACK_IN = Duration.ofMillis(1_250);

    private final ContainerKind kind;
    private final LifecycleRecorder lifecycle = new LifecycleRecorder();
    private final CompletableFuture<String> gate = new CompletableFuture<>();
    private final AtomicBoolean answered = new AtomicBoolean();
    private TestServer server;
    private RawSession session;

    ContextTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .options(options ->
                        options.contextExtractor(ContextTest::context).sessionLifecycleListener(lifecycle))
                .tool(
                        "user",
                        (exchange, request) -> Mono.just(
                                String.valueOf(exchange.transportContext().get("user"))))
                .tool(
                        "session",
                        (exchange, request) -> Mono.just(request(exchange).sessionId()))
                .tool("later", (exchange, request) -> {
                    request(exchange).disconnect(BACK_IN);
                    return Mono.fromFuture(gate, true).doOnSuccess(text -> answered.set(true));
                })
                .start();
        session = RawSession.open(server.port());
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    private static McpTransportContext context(HttpServletRequest request) {
        return McpTransportContext.create(Map.of("user", String.valueOf(request.getHeader("X-User"))));
    }

    private static HoldfastRequest request(McpAsyncServerExchange exchange) {
        return HoldfastRequest.of(exchange.transportContext());
    }

    private static String resultOf(RawConnection connection) {
        List<Frame> messages = connection.messages();
        assertThat(connection.end()).isEqualTo(RawConnection.End.IN_ORDER);
        assertThat(messages).hasSize(1);
        return messages.get(0).json().at("/result/content/0/text").asString();
    }

    private String resultOf(RawRequest request) {
        try (RawConnection connection = session.stream(request)) {
            return resultOf(connection);
        }
    }

    @Test
    void aHandlerSeesWhatWasExtractedFromItsOwnRequest() {
        RawRequest call = session.post(Json.call("1", "user"));

        assertThat(resultOf(call.with("X-User", "ada"))).isEqualTo("ada");
        assertThat(resultOf(call.with("X-User", "grace"))).isEqualTo("grace");
    }

    @Test
    void aSynchronousHandlerSeesTheSame() throws Exception {
        try (TestServer sync = TestServer.in(kind)
                .options(options -> options.contextExtractor(ContextTest::context))
                .syncServer(specification -> specification.toolCall(
                        Tools.definition("who"),
                        (exchange, request) ->
                                Tools.text(exchange.transportContext().get("user") + " in "
                                        + HoldfastRequest.of(exchange.transportContext())
                                                .sessionId())))
                .start()) {
            RawSession other = RawSession.open(sync.port());
            try (RawConnection call =
                    other.stream(other.post(Json.call("1", "who")).with("X-User", "ada"))) {
                assertThat(resultOf(call)).isEqualTo("ada in " + other.id());
            }
        }
    }

    @Test
    void theSessionIdIsTheOneThatTheClientHolds() {
        RawSession other = RawSession.open(server.port());

        assertThat(resultOf(session.post(Json.call("1", "session")))).isEqualTo(session.id());
        assertThat(other.id()).isNotEqualTo(session.id());
        try (RawConnection call = other.stream(other.post(Json.call("1", "session")))) {
            assertThat(resultOf(call)).isEqualTo(other.id());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aHandlerCanAskItsClientToComeBackLater(boolean beforeTheResult) {
        List<Frame> frames = new ArrayList<>();
        try (RawConnection call = session.stream(session.post(Json.call("7", "later")))) {
            for (Optional<Frame> frame = call.frame(); frame.isPresent(); frame = call.frame()) {
                frames.add(frame.get());
            }
            assertThat(call.end()).isEqualTo(RawConnection.End.IN_ORDER);
        }
        assertThat(frames).noneMatch(Frame::message);
        assertThat(frames.get(frames.size() - 1).retry()).hasValue(Long.toString(BACK_IN.toMillis()));
        RawRequest back = session.get(frames.get(0).id().orElseThrow());

        if (beforeTheResult) {
            try (RawConnection again = session.stream(back)) {
                assertThat(again.frame().orElseThrow().message()).isFalse();
                gate.complete("done");
                assertThat(resultOf(again)).isEqualTo("done");
            }
        } else {
            gate.complete("done");
            await().untilTrue(answered);
            assertThat(resultOf(back)).isEqualTo("done");
        }
        assertThat(lifecycle.detached()).isEmpty();
        session.assertAlive();
    }
}
