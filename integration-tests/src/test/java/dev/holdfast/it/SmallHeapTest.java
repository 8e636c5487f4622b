package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Phaser;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Clients that together send or ask for more than the heap of the server holds: some are told to come back, and nobody ends it. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(300)
class SmallHeapTest {
    private static final int SESSIONS = 4;
    private static final int CLIENTS = 100;
    private static final String BATCHES = "2025-03-26";

    private final ContainerKind kind;
    private final List<RawSession> sessions = new ArrayList<>();
    private final Map<Integer, AtomicInteger> statuses = new ConcurrentSkipListMap<>();

    /** For the tests that leave nothing in it. */
    @SuppressWarnings("NullAway.Init")
    private static JavaProcess shared;

    private JavaProcess server;

    SmallHeapTest(ContainerKind kind) {
        this.kind = kind;
    }

    /** What fills the arguments of a call: a mapper makes one string of it, or very many objects. */
    enum Filling {
        TEXT("\"%s\"", "x", 1 << 20),
        ARRAYS("[%s[]]", "[],", 1 << 18),
        OBJECTS("[%s{}]", "{},", 1 << 18),
        NUMBERS("[%s0]", "0,", 1 << 18),
        MEMBERS("[%s{}]", "{\"a\":1.5},", 1 << 18);

        private final String around;
        private final String piece;
        private final int bytes;

        Filling(String around, String piece, int bytes) {
            this.around = around;
            this.piece = piece;
            this.bytes = bytes;
        }

        String of(int bytes) {
            return String.format(around, piece.repeat(bytes / piece.length()));
        }
    }

    @BeforeParameterizedClassInvocation
    static void start(ContainerKind kind) throws Exception {
        shared = SmallHeapServer.start(kind, 128);
    }

    @AfterParameterizedClassInvocation
    static void stop() {
        shared.close();
    }

    @BeforeEach
    void useTheShared() {
        server = shared;
        openSessions();
    }

    private void startAnother(int megabytes) throws Exception {
        server = SmallHeapServer.start(kind, megabytes);
        openSessions();
    }

    private void openSessions() {
        sessions.clear();
        for (int i = 0; i < SESSIONS; i++) {
            sessions.add(RawSession.open(server.port(), BATCHES));
        }
    }

    /** Nothing is held any more: a call that needs most of the room finds it. */
    @AfterEach
    void theServerIsHealthy() {
        try {
            assertHealthy();
            sessions.forEach(
                    session -> assertThat(session.status(session.delete())).isEqualTo(200));
        } finally {
            if (server != shared) {
                server.close();
            }
        }
    }

    private void assertHealthy() {
        byte[] large = call("\"last\"", Filling.TEXT, 5 << 20);
        await().atMost(Duration.ofSeconds(20))
                .pollInterval(Duration.ofMillis(200))
                .until(() -> sessions.get(0).status(sessions.get(0).post(large)) == 200);
        sessions.forEach(RawSession::assertAlive);
        assertThat(server.isAlive()).isTrue();
    }

    private static byte[] call(String id, Filling filling, int bytes) {
        return Json.request(id, "tools/call", "{\"name\":\"hold\",\"arguments\":{\"fill\":" + filling.of(bytes) + "}}")
                .getBytes(UTF_8);
    }

    private RawSession session(int number) {
        return sessions.get(number % SESSIONS);
    }

    /** All clients at once; each is served, or told to come back. */
    private void storm(int count, IntFunction<byte[]> body) throws Exception {
        Parallel.times(count, number -> {
            try (RawConnection connection = session(number).send(session(number).post(body.apply(number)))) {
                count(connection);
            } catch (UncheckedIOException e) {
                // cut while it sent what nobody reads
                statuses.computeIfAbsent(0, any -> new AtomicInteger()).incrementAndGet();
            }
        });
        assertThat(server.isAlive()).isTrue();
        assertThat(statuses.get(503)).isNotNull();
        assertThat(statuses.keySet()).isSubsetOf(0, 200, 202, 503);
    }

    private void count(RawConnection connection) {
        RawConnection.Head head = connection.head(Duration.ofSeconds(60));
        statuses.computeIfAbsent(head.status(), any -> new AtomicInteger()).incrementAndGet();
        if (head.status() == 200) {
            assertThat(connection.message().data()).contains("held 1");
        } else if (head.status() == 503) {
            assertThat(head.header("Retry-After")).isPresent();
            assertThat(connection.body()).contains("room");
        }
    }

    @ParameterizedTest
    @EnumSource(Filling.class)
    void callsAtOnce(Filling filling) throws Exception {
        storm(CLIENTS, number -> call(String.valueOf(number), filling, filling.bytes));
    }

    @Test
    void batchesAtOnce() throws Exception {
        storm(
                CLIENTS,
                number -> ("[" + new String(call("1" + number + "0", Filling.TEXT, 1 << 19), UTF_8) + ","
                                + new String(call("1" + number + "1", Filling.ARRAYS, 1 << 17), UTF_8) + "]")
                        .getBytes(UTF_8));
        assertThat(statuses.get(200)).isNotNull();
    }

    @Test
    void notificationsAtOnce() throws Exception {
        startAnother(128); // one that has run for a while is done with them before there are many
        storm(
                CLIENTS,
                number -> Json.notification("notifications/made/up", "{\"fill\":" + Filling.ARRAYS.of(1 << 18) + "}")
                        .getBytes(UTF_8));
    }

    @Test
    void initializesAtOnce() throws Exception {
        startAnother(128);
        byte[] initialize = Json.request(
                        "1",
                        "initialize",
                        "{\"protocolVersion\":\"" + BATCHES + "\",\"capabilities\":{\"experimental\":{\"fill\":"
                                + Filling.ARRAYS.of(60 << 10)
                                + "}},\"clientInfo\":{\"name\":\"large\",\"version\":\"1\"}}")
                .getBytes(UTF_8);
        Parallel.times(CLIENTS, number -> {
            try (RawConnection connection = session(number).send(session(number).post(initialize))) {
                int status = connection.head(Duration.ofSeconds(60)).status();
                statuses.computeIfAbsent(status, any -> new AtomicInteger()).incrementAndGet();
            } catch (UncheckedIOException e) {
                statuses.computeIfAbsent(0, any -> new AtomicInteger()).incrementAndGet();
            }
        });
        assertThat(server.isAlive()).isTrue();
        assertThat(statuses.get(503)).isNotNull();
        assertThat(statuses.keySet()).isSubsetOf(0, 200, 503);
    }

    /** Each is asked something, and all answer at the same moment. */
    @Test
    void answersToQuestionsAtOnce() throws Exception {
        Phaser asked = new Phaser(CLIENTS);
        Parallel.times(CLIENTS, number -> {
            RawSession session = session(number);
            try (RawConnection call = session.stream(session.post(Json.call(String.valueOf(number), "ask")))) {
                String question = call.message().json().get("id").toString();
                asked.arriveAndAwaitAdvance();
                int status = answer(session, question);
                if (status == 202) {
                    assertThat(call.message().data()).contains("told " + (1 << 20));
                }
            }
        });
        assertThat(server.isAlive()).isTrue();
        assertThat(statuses.keySet()).isSubsetOf(0, 202, 503);
        assertThat(statuses.get(202)).isNotNull();
        assertThat(statuses.get(503)).isNotNull();
    }

    private int answer(RawSession session, String question) {
        byte[] answer = ("{\"jsonrpc\":\"2.0\",\"id\":" + question
                        + ",\"result\":{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":"
                        + Filling.TEXT.of(1 << 20) + "}}}")
                .getBytes(UTF_8);
        int status = 0;
        try (RawConnection connection = session.send(session.post(answer))) {
            RawConnection.Head head = connection.head(Duration.ofSeconds(60));
            status = head.status();
            assertThat(head.header("Retry-After").isPresent()).isEqualTo(status == 503);
        } catch (UncheckedIOException e) {
            // cut while it sent what nobody reads
        }
        statuses.computeIfAbsent(status, any -> new AtomicInteger()).incrementAndGet();
        return status;
    }

    /** Each is there several times while it is written as JSON, and as long as its client reads it. */
    @Test
    void largeResponsesAtOnce() throws Exception {
        startAnother(256);
        Parallel.times(24, number -> {
            try (RawConnection connection =
                    session(number).send(session(number).post(Json.call(String.valueOf(number), "large")))) {
                connection.head(Duration.ofSeconds(60));
                connection.messages(Duration.ofSeconds(60));
            } catch (UncheckedIOException e) {
                // its session has ended for what it keeps
            }
        });
        assertThat(server.isAlive()).isTrue();
        openSessions();
    }
}
