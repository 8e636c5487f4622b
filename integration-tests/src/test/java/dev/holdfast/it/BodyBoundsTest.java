package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.Protocols;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What bounds the bodies of requests: a deadline, a room that they share, and that nobody reads what is of no use. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(120)
@Execution(ExecutionMode.CONCURRENT)
@Tag("edge")
class BodyBoundsTest {
    private static final int INVALID_REQUEST = -32600;
    private static final int SERVER_ERROR = -32000;
    private static final int SESSION_NOT_FOUND = -32001;
    private static final int LIMIT = 64 << 10;
    /** A body of the SDK's server takes four times its bytes, and a little more for what is in it. */
    private static final int NEEDED = 4 * LIMIT + 4096;
    /** A quarter of it is for small requests: the rest holds two of the largest. */
    private static final int ROOM = 2 * NEEDED * 4 / 3;

    private static final int MORE_THAN_A_PIECE = 10_000;

    private final ContainerKind kind;

    BodyBoundsTest(ContainerKind kind) {
        this.kind = kind;
    }

    private TestServer start(UnaryOperator<EdgeOptions.Builder> change) throws Exception {
        return TestServer.in(kind)
                .edge(options -> change.apply(options.maxRequestSize(LIMIT).maxRequestBytes(ROOM)))
                .options(options -> options.sseEndpoint("/sse"))
                .start();
    }

    private static long refused(TestServer server, dev.holdfast.Refusal reason) {
        return server.holdfast().engine().stats().refused().getOrDefault(reason, 0L);
    }

    /** A call that is padded with white space to a number of bytes. */
    private static byte[] echoOf(int size) {
        byte[] body = new byte[size];
        Arrays.fill(body, (byte) ' ');
        byte[] call = Json.echo("1", "hello").getBytes(UTF_8);
        System.arraycopy(call, 0, body, 0, call.length);
        return body;
    }

    private static RawConnection begun(RawSession session, int sent) {
        RawRequest request =
                session.post(Arrays.copyOf(echoOf(LIMIT), sent)).with("Content-Length", Integer.toString(LIMIT));
        return session.send(request);
    }

    @ParameterizedTest
    @ValueSource(strings = {"Content-Length: 1000", "Transfer-Encoding: chunked"})
    void aClientThatDripsIsCutWhenItsTimeIsOver(String framing) throws Exception {
        try (TestServer server = start(options -> options.requestDeadline(Duration.ofSeconds(1)))) {
            RawSession session = RawSession.open(server.port());
            String[] header = framing.split(": ", 2);
            String drop = header[1].equals("chunked") ? "1\r\n \r\n" : " ";
            long start = System.nanoTime();
            try (RawConnection dripping = session.send(session.post("").with(header[0], header[1]))) {
                for (int i = 0; i < 100 && !dripping.readable(); i++) {
                    dripping.write(drop.getBytes(UTF_8));
                    Thread.sleep(100);
                }
                Refusal refusal = Refusal.of(dripping).assertIs(408, INVALID_REQUEST, "did not arrive");

                assertThat(refusal.head().header("Connection")).hasValue("close");
                assertThat(Duration.ofNanos(System.nanoTime() - start))
                        .isBetween(Duration.ofMillis(950), Duration.ofSeconds(9));
                assertCut(dripping, drop);
            }
            assertThat(refused(server, dev.holdfast.Refusal.BODY_TIME)).isEqualTo(1);
            session.assertAlive();
        }
    }

    /** Whoever goes on dripping finds that nobody is there any more. */
    private static void assertCut(RawConnection dripping, String drop) throws InterruptedException {
        for (int i = 0; i < 200; i++) {
            try {
                dripping.write(drop.getBytes(UTF_8));
            } catch (UncheckedIOException e) {
                return;
            }
            Thread.sleep(100);
        }
        throw new AssertionError("the connection is still open");
    }

    @Test
    void allBodiesShareARoomAndEachLeavesItHoweverItEnds() throws Exception {
        try (TestServer server = start(options -> options.requestDeadline(Duration.ofSeconds(15)))) {
            RawSession session = RawSession.open(server.port());
            byte[] last = {' '};
            for (int round = 0; round < 2; round++) {
                RawConnection whole = begunWithRoom(session);
                RawConnection broken = begunWithRoom(session);
                awaitNoRoom(server, session);
                whole.write(last);
                assertThat(whole.head().status()).isEqualTo(200);
                whole.message();
                broken.reset();
                RawConnection late = begunWithRoom(session);
                RawConnection cut = begunWithRoom(session);
                awaitNoRoom(server, session);
                cut.shutdownOutput();
                Refusal.of(late).assertIs(408, INVALID_REQUEST, "did not arrive");
                for (RawConnection each : List.of(whole, late, cut)) {
                    each.close();
                }
            }
            List<RawConnection> together = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                together.add(begunWithRoom(session));
            }
            for (RawConnection each : together) {
                each.write(last);
                assertThat(each.head().status()).isEqualTo(200);
                each.message(); // answered: the next call has the same id
                each.close();
            }
        }
    }

    /** Begins a large request as soon as there is room for it: that a connection has ended is seen a moment later. */
    private static RawConnection begunWithRoom(RawSession session) throws InterruptedException {
        for (int i = 0; i < 50; i++) {
            RawConnection large = begun(session, LIMIT - 1);
            Thread.sleep(300);
            session.assertAlive(); // it has had its turn
            if (!large.readable()) {
                return large;
            }
            large.close();
        }
        throw new AssertionError("there is never room");
    }

    /** Sends requests until one finds no room, and looks at its answer; the small ones of others are served meanwhile. */
    private static void awaitNoRoom(TestServer server, RawSession session) throws InterruptedException {
        long until = System.nanoTime() + Duration.ofSeconds(6).toNanos();
        for (long wait = 20; System.nanoTime() < until; wait = Math.min(2 * wait, 640)) {
            try (RawConnection third = begun(session, MORE_THAN_A_PIECE)) {
                Thread.sleep(wait);
                if (third.readable()) {
                    session.assertAlive();
                    Refusal refusal = Refusal.of(third).assertIs(503, SERVER_ERROR, "no room");
                    assertThat(refusal.head().header("Retry-After")).hasValue("1");
                    assertThat(refusal.head().header("Connection")).hasValue("close");
                    return;
                }
            }
        }
        throw new AssertionError(
                "there is always room: " + server.holdfast().engine().stats());
    }

    @Test
    void aMessageOverHttpSseForASessionThatIsNotThereIsRefusedBeforeItComes() throws Exception {
        try (TestServer server = start(options -> options)) {
            RawRequest announced = RawRequest.post("{").with("Content-Length", "1000");

            Refusal.of(server.port(), announced.to("/message?sessionId=forged"))
                    .assertIs(404, SESSION_NOT_FOUND, "session not found");
        }
    }

    @Test
    void aMessageOfTheModernEraIsToldSoAlsoWhereItsSessionIsNotThere() throws Exception {
        try (TestServer server = start(options -> options.protocols(Protocols.LEGACY))) {
            Refusal refusal = Refusal.of(
                    server.port(),
                    RawRequest.post(Json.echo("\"mine\"", "hello"))
                            .with("MCP-Protocol-Version", "2026-07-28")
                            .with("Mcp-Session-Id", "forged"));

            refusal.assertIs(400, -32601, "initialize");
            assertThat(refusal.json().at("/id").asString()).isEqualTo("mine");
        }
    }

    @Test
    void aServerThatDrainsSendsThemToItsSuccessor() throws Exception {
        try (TestServer server = start(options -> options)) {
            server.holdfast()
                    .engine()
                    .drain(Duration.ZERO)
                    .toCompletableFuture()
                    .get(30, TimeUnit.SECONDS);
            RawRequest announced = RawRequest.post("{").with("Content-Length", "1000");

            Refusal refusal = Refusal.of(server.port(), announced.with("Mcp-Session-Id", "forged"));

            refusal.assertIs(503, SERVER_ERROR, "shutting down");
            assertThat(refusal.head().header("Retry-After")).hasValue("1");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {2_000, 60_000})
    void aClientThatSendsItsBodyNeverthelessReadsTheAnswer(int size) throws Exception {
        try (TestServer server = start(options -> options)) {
            for (int i = 0; i < 20; i++) {
                byte[] body = echoOf(size);
                RawRequest request = RawRequest.post(Arrays.copyOf(body, 1_000))
                        .with("Mcp-Session-Id", "forged")
                        .with("Content-Length", Integer.toString(size));
                Linger.within(() -> {
                    try (RawConnection connection =
                            RawConnection.open(server.port()).send(request)) {
                        Thread.sleep(10);
                        connection.write(Arrays.copyOfRange(body, 1_000, 1_500));
                        connection.write(Arrays.copyOfRange(body, 1_500, size));
                        Refusal.of(connection).assertIs(404, SESSION_NOT_FOUND, "session not found");
                    }
                });
            }
        }
    }

    /** Handlers run on the threads of requests, which wait for bodies in sessions that are there. */
    private TestServer withFewThreads(Duration deadline) throws Exception {
        return TestServer.in(kind)
                .threads(2)
                .edge(options -> options.requestDeadline(deadline))
                .options(options -> options.immediateExecution(true))
                .start();
    }

    /** More of them than the server has threads; each has sent the first byte of a body, which may be that of an initialize. */
    private static List<RawConnection> strangers(RawSession session) {
        List<RawConnection> strangers = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            strangers.add(session.send(session.post(Arrays.copyOf(echoOf(1_000), 1))
                    .with("Mcp-Session-Id", "x")
                    .with("Content-Length", "1000")));
        }
        return strangers;
    }

    @Test
    void strangersThatNeverSendTheirBodiesHoldNoThread() throws Exception {
        try (TestServer server = withFewThreads(Duration.ofSeconds(2))) {
            RawSession session = RawSession.open(server.port());
            List<RawConnection> silent = strangers(session);
            session.assertAlive();
            silent.forEach(each -> assertThat(each.head().status()).isEqualTo(408));
            session.assertAlive();
            silent.forEach(RawConnection::close);
        }
    }

    @Test
    void strangersThatSendTheirBodiesSlowlyAreListenedToAndHoldNoThread() throws Exception {
        try (TestServer server = withFewThreads(Duration.ofSeconds(30))) {
            RawSession session = RawSession.open(server.port());
            Linger.within(() -> {
                List<RawConnection> slow = strangers(session);
                try {
                    byte[] body = echoOf(1_000);
                    for (int piece = 0; piece < 3; piece++) {
                        byte[] next = Arrays.copyOfRange(body, 1 + 300 * piece, 301 + 300 * piece);
                        slow.forEach(each -> each.write(next));
                        session.assertAlive();
                    }
                    slow.forEach(each -> each.write(Arrays.copyOfRange(body, 901, 1_000)));
                    slow.forEach(each -> Refusal.of(each).assertIs(404, SESSION_NOT_FOUND, "session not found"));
                    session.assertAlive();
                } finally {
                    slow.forEach(RawConnection::close);
                }
            });
        }
    }
}
