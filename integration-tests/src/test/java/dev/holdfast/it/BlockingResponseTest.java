package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;

/** Filters that put a stream of their own before the response, which knows only writes that block. */
@ParameterizedClass
@MethodSource("places")
@Timeout(30)
@Tag("edge")
class BlockingResponseTest {
    private static final Duration HEARTBEAT = Duration.ofMillis(200);
    private static final String LONG = "x".repeat(300 << 10);
    private static final int STREAMS = 10;

    private final ContainerKind kind;
    private final WriteThroughFilter.Listening listening;
    private final CompletableFuture<String> gate = new CompletableFuture<>();
    private TestServer server;
    private RawSession session;

    BlockingResponseTest(ContainerKind kind, WriteThroughFilter.Listening listening) {
        this.kind = kind;
        this.listening = listening;
    }

    static Stream<Arguments> places() {
        return Stream.of(ContainerKind.values())
                .flatMap(kind -> EnumSet.complementOf(EnumSet.of(WriteThroughFilter.Listening.HANDED_ON)).stream()
                        .map(listening -> Arguments.of(kind, listening)));
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .options(options -> options.heartbeatInterval(HEARTBEAT))
                .filter(new WriteThroughFilter(listening))
                .tool("later", (exchange, request) -> Mono.fromFuture(gate, true))
                .tool(
                        "telling",
                        (exchange, request) ->
                                Tools.progress(exchange, request, 1).then(Mono.fromFuture(gate, true)))
                .tool("long", (exchange, request) -> Mono.just(LONG))
                .start();
        session = RawSession.open(server.port());
    }

    @AfterEach
    void close() throws Exception {
        gate.complete("end");
        server.close();
    }

    private static String text(RawConnection stream) {
        return stream.message().json().at("/result/content/0/text").asString();
    }

    @Test
    void anAnswerThatComesAtOnceArrives() {
        session.assertAlive();
    }

    @Test
    void anAnswerThatTakesItsTimeArrives() throws Exception {
        try (RawConnection call = session.stream(session.post(Json.call("1", "later")))) {
            assertThat(call.frame())
                    .hasValueSatisfying(frame -> assertThat(frame.message()).isFalse());
            gate.complete("done");
            assertThat(text(call)).isEqualTo("done");
        }
    }

    @Test
    void whatAToolTellsMeanwhileArrives() throws Exception {
        try (RawConnection call = session.stream(session.post(Json.callWithProgress("1", "telling")))) {
            assertThat(call.message().json().at("/params/progress").asInt()).isOne();
            gate.complete("done");
            assertThat(text(call)).isEqualTo("done");
        }
    }

    @Test
    void aLongAnswerArrives() throws Exception {
        try (RawConnection call = session.stream(session.post(Json.call("1", "long")))) {
            assertThat(text(call)).isEqualTo(LONG);
        }
    }

    @Test
    void moreStreamsThanWritersAreServed() throws Exception {
        List<RawSession> sessions = new ArrayList<>();
        List<RawConnection> streams = new ArrayList<>();
        try {
            for (int i = 0; i < STREAMS; i++) {
                RawSession next = RawSession.open(server.port());
                sessions.add(next);
                streams.add(next.stream(next.get()));
            }
            await().until(() -> server.holdfast().engine().stats().connections() >= STREAMS);
            for (String text : List.of("one", "two")) {
                server.log(text);
                for (RawConnection stream : streams) {
                    assertThat(stream.message().json().at("/params/data").asString())
                            .isEqualTo(text);
                }
            }
        } finally {
            for (RawConnection stream : streams) {
                stream.close();
            }
        }
        for (RawSession next : sessions) {
            next.assertAlive();
        }
    }
}
