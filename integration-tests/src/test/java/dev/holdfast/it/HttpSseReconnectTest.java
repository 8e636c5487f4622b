package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.EndReason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/** With a grace period a client of HTTP+SSE comes back to its session, and gets what it missed. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class HttpSseReconnectTest {
    private final ContainerKind kind;
    private final LifecycleRecorder lifecycle = new LifecycleRecorder();
    private final CompletableFuture<String> gate = new CompletableFuture<>();

    @AutoClose
    private final Witness witness = new Witness();

    private TestServer server;

    HttpSseReconnectTest(ContainerKind kind) {
        this.kind = kind;
    }

    private TestServer.Builder server(Duration grace) {
        return TestServer.in(kind)
                .options(options -> options.sseEndpoint("/sse")
                        .sseReconnectGracePeriod(grace)
                        .heartbeatInterval(Duration.ofMillis(200))
                        .sessionLifecycleListener(lifecycle));
    }

    @BeforeEach
    void start() throws Exception {
        server = server(Duration.ofSeconds(30))
                .filter(new UserFilter())
                .filter(witness.completions())
                .tool("slow", (exchange, request) -> Mono.fromFuture(gate, true))
                .start();
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
        witness.assertNoComplaint();
    }

    private RawSseSession open() {
        return RawSseSession.open(server.port());
    }

    /** The GET of a client that comes back, which must get its session again. */
    private RawSseSession again(RawSseSession before, String lastEventId) {
        RawSseSession after = RawSseSession.connect(server.port(), RawSseSession.get(lastEventId));
        assertThat(after.endpoint()).isEqualTo(before.endpoint());
        assertThat(after.opening().id()).hasValue(lastEventId);
        return after;
    }

    /** Has the server send something, and reads it. */
    private String lastEventId(RawSseSession session, String text) {
        server.log(text);
        Frame frame = session.stream().message();
        assertThat(text(frame.json())).isEqualTo(text);
        return frame.id().orElseThrow();
    }

    private static String text(JsonNode message) {
        return message.at("/params/data").asString();
    }

    private static List<String> textsUpTo(String end, RawSseSession session) {
        List<String> texts = new ArrayList<>();
        while (!texts.contains(end)) {
            texts.add(text(session.receive()));
        }
        return texts;
    }

    @Test
    void everyEventNamesItsSession() {
        try (RawSseSession session = open()) {
            assertThat(session.opening().id().orElse("")).startsWith(session.id() + ".");
            assertThat(session.opening().retry()).hasValue("2000");
            String first = lastEventId(session, "one");
            String second = lastEventId(session, "two");
            assertThat(first).startsWith(session.id() + ".").isNotEqualTo(second);
            assertThat(second).startsWith(session.id() + ".");
        }
    }

    /** It fails on a line that it does not know. */
    @Test
    void aJavaClientGetsTheSameStreamWithoutARetry() {
        RawRequest get = RawSseSession.get().with("User-Agent", "Java-http-client/17.0.15");
        try (RawSseSession session = RawSseSession.connect(server.port(), get)) {
            assertThat(session.opening().retry()).isEmpty();
            assertThat(session.opening().id().orElse("")).startsWith(session.id() + ".");
            session.initialize().assertAlive();
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatWasMissedComesOnceAndInOrder(Breakage breakage) {
        RawSseSession session = open();
        String last = lastEventId(session, "seen");
        breakage.happenTo(session.stream());
        server.log("one");
        session.send(Json.echo("1", "hello"));
        server.log("two");

        try (RawSseSession again = again(session, last)) {
            assertThat(text(again.receive())).isEqualTo("one");
            List<JsonNode> rest = new ArrayList<>(List.of(again.receive(), again.receive()));
            assertThat(rest).anySatisfy(message -> assertThat(text(message)).isEqualTo("two"));
            assertThat(rest)
                    .anySatisfy(message -> assertThat(
                                    message.at("/result/content/0/text").asString())
                            .isEqualTo("hello"));
            again.assertAlive();
        }
        assertThat(server.holdfast().engine().size()).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource
    void nothingIsLostOrDoubledThroughManyBreaks(Breakage breakage) {
        int times = 10;
        RawSseSession session = open();
        List<String> sent = new ArrayList<>();
        List<String> got = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            sent.add("seen " + i);
            server.log("seen " + i);
            String last = "";
            while (!got.contains("seen " + i)) {
                Frame frame = session.stream().message();
                last = frame.id().orElseThrow();
                got.add(text(frame.json()));
            }
            breakage.happenTo(session.stream());
            sent.add("missed " + i);
            server.log("missed " + i);
            session = again(session, last);
        }
        sent.add("end");
        server.log("end");
        got.addAll(textsUpTo("end", session));

        assertThat(got).isEqualTo(sent);
        session.close();
    }

    @ParameterizedTest
    @EnumSource
    void aClientThatComesBackBeforeTheServerMissesItTakesOver(Breakage breakage) throws Exception {
        RawSseSession session = open();
        String last = lastEventId(session, "seen");
        try (RawSseSession again = again(session, last)) {
            server.log("one");
            assertThat(session.stream().messages()).isEmpty();
            breakage.happenTo(session.stream());
            server.log("two");
            assertThat(textsUpTo("two", again)).containsExactly("one", "two");
            again.assertAlive();
        }
    }

    @ParameterizedTest
    @EnumSource
    void theSessionWaitsThroughSilence(Breakage breakage) {
        RawSseSession session = open();
        String last = lastEventId(session, "seen");
        breakage.happenTo(session.stream());
        await().until(() -> lifecycle.detached().equals(List.of(session.id())));
        assertThat(server.holdfast().openConnections()).isZero();

        session.send(Json.echo("1", "hello"));

        try (RawSseSession again = again(session, last)) {
            assertThat(again.receive().at("/id").asInt()).isEqualTo(1);
            again.assertAlive();
        }
    }

    @ParameterizedTest
    @EnumSource
    void aRunningCallGoesOnAndItsResultWaits(Breakage breakage) {
        RawSseSession session = open();
        String last = lastEventId(session, "seen");
        session.send(Json.call("7", "slow"));
        breakage.happenTo(session.stream());
        await().until(() -> lifecycle.detached().equals(List.of(session.id())));

        gate.complete("done");

        try (RawSseSession again = again(session, last)) {
            JsonNode response = again.receive();
            assertThat(response.at("/id").asInt()).isEqualTo(7);
            assertThat(response.at("/result/content/0/text").asString()).isEqualTo("done");
        }
    }

    @ParameterizedTest
    @EnumSource
    void theIdOfTheEndpointIsEnough(Breakage breakage) {
        RawSseSession session = RawSseSession.connect(server.port());
        String last = session.opening().id().orElseThrow();
        breakage.happenTo(session.stream());
        session.send(Json.initialize(RawSseSession.REVISION));

        try (RawSseSession again = again(session, last)) {
            assertThat(again.receive().at("/result/protocolVersion").asString()).isEqualTo(RawSseSession.REVISION);
            again.send(Json.notification("notifications/initialized", "{}"));
            again.assertAlive();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "1", ".", "%s", "%s.", "%s.x", ".%s", "unknown.0.1.2", "%s.0.zz.zzzzzz"})
    void anIdThatNamesNothingOpensAnotherSession(String lastEventId) {
        try (RawSseSession session = open();
                RawSseSession other =
                        RawSseSession.connect(server.port(), RawSseSession.get(lastEventId.formatted(session.id())))) {
            assertThat(other.id()).isNotEqualTo(session.id());
            other.initialize();
            other.assertAlive();
            session.assertAlive();
        }
    }

    @Test
    void theIdOfAnotherUsersEventOpensAnotherSession() {
        RawRequest alices = RawSseSession.get().with(UserFilter.USER, "alice");
        try (RawSseSession alice = RawSseSession.connect(server.port(), alices)) {
            String last = alice.opening().id().orElseThrow();
            for (RawRequest request :
                    List.of(RawSseSession.get(last), RawSseSession.get(last).with(UserFilter.USER, "bob"))) {
                try (RawSseSession other = RawSseSession.connect(server.port(), request)) {
                    assertThat(other.id()).isNotEqualTo(alice.id());
                }
            }
            try (RawSseSession again = RawSseSession.connect(server.port(), alices.with("Last-Event-ID", last))) {
                assertThat(again.id()).isEqualTo(alice.id());
            }
        }
    }

    @Test
    void theIdOfAStreamableEventOpensAnotherSession() {
        RawSession streamable = RawSession.open(server.port());
        String id;
        try (RawConnection listening = streamable.stream(streamable.get())) {
            id = listening.frame().orElseThrow().id().orElseThrow();
        }
        for (String last : List.of(id, streamable.id() + "." + id)) {
            try (RawSseSession other = RawSseSession.connect(server.port(), RawSseSession.get(last))) {
                assertThat(other.id()).isNotEqualTo(streamable.id());
            }
        }
        streamable.assertAlive();
    }

    @Test
    void theGracePeriodEnds() throws Exception {
        try (TestServer impatient = server(Duration.ofSeconds(1)).start()) {
            RawSseSession session = RawSseSession.open(impatient.port());
            String last = session.opening().id().orElseThrow();
            session.stream().reset();

            await().untilAsserted(() -> assertThat(lifecycle.ends()).containsEntry(session.id(), EndReason.EXPIRED));

            session.assertGone();
            try (RawSseSession other = RawSseSession.connect(impatient.port(), RawSseSession.get(last))) {
                assertThat(other.id()).isNotEqualTo(session.id());
            }
        }
        try (RawSseSession session = open()) {
            session.assertAlive();
        }
    }

    @Test
    void withoutAGracePeriodThereAreNoIds() throws Exception {
        try (TestServer plain = server(Duration.ZERO).start();
                RawSseSession session = RawSseSession.open(plain.port())) {
            plain.log("one");
            Frame frame = session.stream().message();
            assertThat(text(frame.json())).isEqualTo("one");
            assertThat(frame.id()).isEmpty();
            assertThat(session.opening().id()).isEmpty();
            try (RawSseSession other =
                    RawSseSession.connect(plain.port(), RawSseSession.get(session.id() + ".0.0.0.0"))) {
                assertThat(other.id()).isNotEqualTo(session.id());
            }
        }
        try (RawSseSession session = open()) {
            session.assertAlive();
        }
    }
}
