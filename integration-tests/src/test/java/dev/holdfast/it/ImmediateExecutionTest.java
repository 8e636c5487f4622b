package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.spi.SessionStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Handlers of a server that executes immediately find the thread-locals of their request, whatever the call has to wait for. A
 * filter sets them that is called for requests only, as filters are by default, and not when the container goes on with one.
 */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(60)
@Tag("edge")
class ImmediateExecutionTest {
    private static final String WITH_BATCHES = "2025-03-26";
    private static final int AT_ONCE = 8;

    private final ContainerKind kind;

    @AutoClose
    private final OpenResources open = new OpenResources();

    @TempDir
    Path folder;

    ImmediateExecutionTest(ContainerKind kind) {
        this.kind = kind;
    }

    private TestServer serverWith(SessionStore store) throws Exception {
        return TestServer.in(kind)
                .filter(new UserThread())
                .options(options -> options.store(store)
                        .immediateExecution(true)
                        .sseEndpoint("/sse")
                        .sseReconnectGracePeriod(Duration.ofSeconds(30)))
                .syncServer(specification -> specification
                        .immediateExecution(true)
                        .toolCall(Tools.definition("who"), (exchange, request) -> Tools.text(UserThread.user())))
                .start();
    }

    /** A server whose sessions are those of one that has ended. */
    private TestServer restarted(SessionUser before) throws Exception {
        try (RocksDbStore store = RocksDbStore.builder(folder).open();
                TestServer server = serverWith(store)) {
            before.use(server);
        }
        return serverWith(open.add(RocksDbStore.builder(folder).open()));
    }

    private interface SessionUser {
        void use(TestServer server) throws Exception;
    }

    private static RawRequest who(RawSession session, String id, String user) {
        return session.post(Json.call(id, "who")).with(UserThread.USER, user);
    }

    private static String text(Frame answer) {
        return answer.json().at("/result/content/0/text").asString();
    }

    private static void assertSeen(RawConnection call, String user) {
        try (call) {
            assertThat(call.head().status()).isEqualTo(200);
            assertThat(text(call.message())).isEqualTo(user);
            assertThat(call.messages()).isEmpty();
            assertThat(call.end()).isEqualTo(RawConnection.End.IN_ORDER);
        }
    }

    @Test
    void theFirstCallsAfterARestart() throws Exception {
        List<RawSession> sessions = new ArrayList<>();
        try (TestServer server = restarted(before -> sessions.add(RawSession.open(before.port())))) {
            RawSession session = sessions.get(0).movedTo(server.port());
            List<RawConnection> calls = new ArrayList<>();
            for (int i = 0; i < AT_ONCE; i++) {
                calls.add(session.send(who(session, Integer.toString(i), "user " + i)));
            }
            for (int i = 0; i < AT_ONCE; i++) {
                assertSeen(calls.get(i), "user " + i);
            }
        }
    }

    @Test
    void aBatchThatIsTheFirstAfterARestart() throws Exception {
        List<RawSession> sessions = new ArrayList<>();
        try (TestServer server = restarted(before -> sessions.add(RawSession.open(before.port(), WITH_BATCHES)))) {
            RawSession session = sessions.get(0).movedTo(server.port());
            String batch = "[" + Json.call("1", "who") + ","
                    + Json.notification("notifications/roots/list_changed", "{}") + "," + Json.call("2", "who") + "]";
            try (RawConnection call = session.stream(session.post(batch).with(UserThread.USER, "ada"))) {
                assertThat(call.messages())
                        .extracting(ImmediateExecutionTest::text)
                        .containsExactly("ada", "ada");
            }
        }
    }

    @Test
    void theFirstCallOverHttpSseAfterARestart() throws Exception {
        List<String> ids = new ArrayList<>();
        try (TestServer server = restarted(before -> {
            try (RawSseSession session = RawSseSession.open(before.port())) {
                ids.add(session.opening().id().orElseThrow());
                session.assertAlive();
            }
        })) {
            try (RawSseSession session = RawSseSession.connect(server.port(), RawSseSession.get(ids.get(0)))) {
                assertThat(session.receive().has("result")).isTrue();
                assertThat(session.receive().has("result")).isTrue();
                assertThat(session.status(session.post(Json.call("7", "who")).with(UserThread.USER, "ada")))
                        .isEqualTo(202);
                assertThat(session.receive().at("/result/content/0/text").asString())
                        .isEqualTo("ada");
            }
        }
    }

    @Test
    void callsWhoseStartWaitsForTheStore() throws Exception {
        try (SlowStore store = new SlowStore(Duration.ofMillis(50));
                TestServer server = serverWith(store.asStore());
                RawSseSession sse = RawSseSession.open(server.port())) {
            RawSession session = RawSession.open(server.port());
            for (int i = 0; i < AT_ONCE; i++) {
                // the answer to the one before is on its way into the store
                assertSeen(session.send(who(session, "\"a" + i + "\"", "user " + i)), "user " + i);
                assertSeen(session.send(who(session, "\"b" + i + "\"", "other " + i)), "other " + i);
                assertThat(sse.status(
                                sse.post(Json.call(Integer.toString(i), "who")).with(UserThread.USER, "ada")))
                        .isEqualTo(202);
                assertThat(sse.receive().at("/result/content/0/text").asString())
                        .isEqualTo("ada");
            }
        }
    }

    @Test
    void aCallWhoseBodyComesLate() throws Exception {
        try (TestServer server = serverWith(new dev.holdfast.tck.MemoryStore());
                RawSseSession sse = RawSseSession.open(server.port())) {
            RawSession session = RawSession.open(server.port());
            assertSeenThoughLate(session.send(late(who(session, "1", "ada"))), who(session, "1", "ada"), 200);
            RawRequest overSse = sse.post(Json.call("1", "who")).with(UserThread.USER, "grace");
            assertSeenThoughLate(RawConnection.open(server.port()).send(late(overSse)), overSse, 202);
            assertThat(sse.receive().at("/result/content/0/text").asString()).isEqualTo("grace");
        }
    }

    private static RawRequest late(RawRequest whole) {
        byte[] body = whole.body();
        return new RawRequest(whole.method(), whole.target(), whole.headers(), Arrays.copyOf(body, 3))
                .with("Content-Length", Integer.toString(body.length));
    }

    private static void assertSeenThoughLate(RawConnection call, RawRequest whole, int status)
            throws InterruptedException {
        byte[] body = whole.body();
        for (int at = 3; at < body.length; at += 20) {
            Thread.sleep(10);
            call.write(Arrays.copyOfRange(body, at, Math.min(at + 20, body.length)));
        }
        try (call) {
            assertThat(call.head().status()).isEqualTo(status);
            if (status == 200) {
                assertThat(text(call.message())).isEqualTo("ada");
            }
        }
    }

    /** Those who drip are heard to the end of their time. */
    @Test
    void aBodyThatTakesTooLongIsRefused() throws Exception {
        try (TestServer server = TestServer.in(kind)
                .edge(options -> options.requestDeadline(Duration.ofSeconds(1)))
                .options(options -> options.immediateExecution(true))
                .start()) {
            RawSession session = RawSession.open(server.port());
            try (RawConnection dripping = session.send(session.post("").with("Content-Length", "1000"))) {
                for (int i = 0; i < 100 && !dripping.readable(); i++) {
                    dripping.write(" ".getBytes(UTF_8));
                    Thread.sleep(100);
                }
                Refusal.of(dripping).assertIs(408, -32600, "did not arrive");
            }
            session.assertAlive();
        }
    }
}
