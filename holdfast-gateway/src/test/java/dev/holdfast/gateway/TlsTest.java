package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EngineStats;
import dev.holdfast.SessionState;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A gateway with a certificate, over HTTP/1.1 and HTTP/2. {@code -Dholdfast.tls.reloads=N} changes the certificate so often. */
@Tag("jdk")
@Timeout(120)
class TlsTest {
    private static final int RELOADS = Integer.getInteger("holdfast.tls.reloads", 4);
    private static final int SESSIONS = 5;
    private static final int LARGE_WINDOW = 1 << 20;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private static Path store;

    @SuppressWarnings("NullAway.Init")
    private static TestCertificate one;

    @SuppressWarnings("NullAway.Init")
    private static TestCertificate other;

    @SuppressWarnings("NullAway.Init")
    private static SSLContext trusting;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @BeforeAll
    static void make() throws Exception {
        other = TestCertificate.make(store, "-keyalg", "RSA");
        one = TestCertificate.make(store, "-keyalg", "EC");
        trusting = TestCertificate.trusting(one, other);
    }

    private String[] words(String... more) throws IOException {
        one.into(folder);
        return Stream.concat(
                        Stream.of(
                                "--tls-cert",
                                "" + folder.resolve("tls.crt"),
                                "--tls-key",
                                "" + folder.resolve("tls.key")),
                        Stream.of(more))
                .toArray(String[]::new);
    }

    private TestGateway gateway(String... more) throws IOException {
        return new TestGateway(words(more));
    }

    private static HttpClient client(Version version) throws Exception {
        return HttpClient.newBuilder()
                .sslContext(TestCertificate.trusting(one, other))
                .version(version)
                .build();
    }

    private static EngineStats stats(TestGateway gateway) {
        return gateway.gateway.engine().stats();
    }

    private static int detached(TestGateway gateway) {
        return stats(gateway).states().getOrDefault(SessionState.DETACHED, 0);
    }

    /** Reads a stream as far as to its first event id, and cuts it there. */
    private static String cut(HttpResponse<Stream<String>> response) {
        try (Stream<String> lines = response.body()) {
            return id(lines.filter(line -> line.startsWith("id:")).iterator().next());
        }
    }

    private static String id(String line) {
        return line.substring("id:".length()).strip();
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void callsAreAnsweredOverBothProtocols(Version version) throws Exception {
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = HttpPeer.connected(client(version), gateway.url());

            assertThat(gateway.url()).hasScheme("https");
            assertThat(peer.call(1, "who")).contains("\"server\"");
            HttpResponse<String> health = peer.get("/healthz");
            assertThat(health.version()).isEqualTo(version);
            assertThat(health.statusCode()).isEqualTo(200);
            assertThat(peer.get("/elsewhere").statusCode()).isEqualTo(404);
        }
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void theConsoleKnowsItsPageByItsOrigin(Version version) throws Exception {
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = HttpPeer.connected(client(version), gateway.url());
            String session =
                    "/console/session?server=&session=" + peer.session().substring(0, 8);
            HttpPeer console = peer.at(gateway.url().resolve(session));

            assertThat(console.with("Holdfast-Console", "1", "Origin", "https://localhost:1")
                            .delete()
                            .statusCode())
                    .isEqualTo(403);
            assertThat(console.with(
                                    "Holdfast-Console",
                                    "1",
                                    "Origin",
                                    "https://" + gateway.url().getRawAuthority())
                            .delete()
                            .statusCode())
                    .isEqualTo(204);
        }
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void aStreamThatIsCutIsResumed(Version version) throws Exception {
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = HttpPeer.connected(client(version), gateway.url());

            String id = cut(Wait.until(peer.posted(1, "slow")));

            try (Stream<String> rest =
                    Wait.until(peer.over(client(version)).resumed(id)).body()) {
                assertThat(rest.filter(line -> line.startsWith("data: {")))
                        .singleElement()
                        .asString()
                        .contains("\"id\":1", "\"server\"");
            }
        }
    }

    /** By the next heartbeat it would be a quarter of a minute. */
    @ParameterizedTest
    @EnumSource(Version.class)
    void aListenerThatLeavesIsNoticedAtOnce(Version version) throws Exception {
        try (TestGateway gateway = gateway("--heartbeat", "1h")) {
            HttpPeer peer = HttpPeer.connected(client(version), gateway.url());
            HttpResponse<Stream<String>> listening = Wait.until(peer.listened());
            assertThat(stats(gateway).connections()).isEqualTo(1);

            listening.body().close();

            Wait.until("the session is detached", () -> detached(gateway) == 1);
        }
    }

    /** In order: by close_notify, behind which the peer reads no more; and without it. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aConnectionOfHttp1IsNoticedToEnd(boolean inOrder) throws Exception {
        try (TestGateway gateway = gateway("--heartbeat", "1h")) {
            HttpPeer peer = HttpPeer.connected(client(Version.HTTP_1_1), gateway.url());
            Socket socket =
                    new Socket(InetAddress.getLoopbackAddress(), gateway.url().getPort());
            SSLSocket secured =
                    (SSLSocket) trusting.getSocketFactory().createSocket(socket, "localhost", socket.getPort(), true);
            secured.getOutputStream()
                    .write(("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: "
                                    + peer.session() + "\r\n\r\n")
                            .getBytes(ISO_8859_1));
            BufferedReader in = new BufferedReader(new InputStreamReader(secured.getInputStream(), UTF_8));
            assertThat(in.readLine()).startsWith("HTTP/1.1 200");

            if (inOrder) {
                secured.shutdownOutput();
            } else {
                socket.close();
            }

            Wait.until("the session is detached", () -> detached(gateway) == 1);
            socket.close();
        }
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void aStreamThatIsSilentStays(Version version) throws Exception {
        try (TestGateway gateway = gateway("--heartbeat", "200ms", "--keep-alive", "1s")) {
            HttpPeer peer = HttpPeer.connected(client(version), gateway.url());
            try (Stream<String> lines = Wait.until(peer.listened()).body()) {
                Iterator<String> heartbeats =
                        lines.filter(line -> line.startsWith(":")).iterator();
                for (int i = 0; i < 15; i++) {
                    heartbeats.next();
                }
                assertThat(stats(gateway).connections()).isEqualTo(1);
            }
        }
    }

    @Test
    void whoSpeaksPlainHttpIsToldWhatIsWrong() throws Exception {
        try (TestGateway gateway = gateway();
                Socket socket = new Socket(
                        InetAddress.getLoopbackAddress(), gateway.url().getPort())) {
            socket.getOutputStream()
                    .write("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}".getBytes(UTF_8));

            assertThat(new String(socket.getInputStream().readAllBytes(), UTF_8))
                    .startsWith("HTTP/1.1 400 ")
                    .contains("this port speaks HTTPS");
        }
    }

    @Test
    void aConnectionThatIsKilledTakesNoSessionWithIt() throws Exception {
        try (TestGateway gateway = gateway();
                RawHttp2 shared = new RawHttp2(gateway.url().getPort(), trusting, LARGE_WINDOW)) {
            HttpClient client = client(Version.HTTP_2);
            List<HttpPeer> peers = new ArrayList<>();
            List<String> ids = new ArrayList<>();
            for (int i = 0; i < SESSIONS; i++) {
                HttpPeer peer = HttpPeer.connected(client, gateway.url());
                peers.add(peer);
                shared.get("/mcp", "mcp-session-id", peer.session());
                int call = shared.post(
                        TestJson.of("{'jsonrpc':'2.0','id':7,'method':'patient'}"), "mcp-session-id", peer.session());
                ids.add(id(shared.heard(call, "\n\n")
                        .lines()
                        .filter(line -> line.startsWith("id:"))
                        .findFirst()
                        .orElseThrow()));
            }
            Wait.until("all listen", () -> stats(gateway).connections() == 2 * SESSIONS);

            shared.kill();

            Wait.until("all are detached", () -> detached(gateway) == SESSIONS);
            assertThat(stats(gateway).connections()).isZero();
            for (HttpPeer peer : peers) {
                try (Stream<String> rest =
                        Wait.until(peer.resumed(ids.get(peers.indexOf(peer)))).body()) {
                    assertThat(rest.filter(line -> line.startsWith("data: {")))
                            .singleElement()
                            .asString()
                            .contains("\"id\":7");
                }
            }
            assertThat(stats(gateway).sessions()).isEqualTo(SESSIONS);
            assertThat(stats(gateway).resumed()).isEqualTo(SESSIONS);
        }
    }

    @Test
    void aStreamThatIsTakenOverEndsAloneOnItsConnection() throws Exception {
        try (TestGateway gateway = gateway();
                RawHttp2 shared = new RawHttp2(gateway.url().getPort(), trusting, LARGE_WINDOW)) {
            HttpPeer peer = HttpPeer.connected(client(Version.HTTP_2), gateway.url());
            HttpPeer beside = HttpPeer.connected(client(Version.HTTP_2), gateway.url());
            int first = shared.get("/mcp", "mcp-session-id", peer.session());
            int others = shared.get("/mcp", "mcp-session-id", beside.session());
            Wait.until("both listen", () -> stats(gateway).connections() == 2);

            shared.get("/mcp", "mcp-session-id", peer.session());

            while (shared.next(first).type() != RawHttp2.RESET) {}
            int call = shared.post(
                    TestJson.of("{'jsonrpc':'2.0','id':7,'method':'who'}"), "mcp-session-id", peer.session());
            shared.heard(call, "\"id\":7");
            shared.reset(others);
            Wait.until("the other one is detached", () -> detached(gateway) == 1);
            Wait.until("only the newer one is left", () -> stats(gateway).connections() == 1);
        }
    }

    @Test
    void aStreamThatNobodyReadsHoldsNoOtherBack() throws Exception {
        try (TestGateway gateway = gateway();
                RawHttp2 shared = new RawHttp2(gateway.url().getPort(), trusting, 100_000)) {
            HttpPeer peer = HttpPeer.connected(client(Version.HTTP_2), gateway.url());
            HttpPeer beside = HttpPeer.connected(client(Version.HTTP_2), gateway.url());
            shared.get("/mcp", "mcp-session-id", peer.session());
            Wait.until("it listens", () -> stats(gateway).connections() == 1);
            int flood = shared.post(
                    TestJson.of("{'jsonrpc':'2.0','id':7,'method':'flood20'}"), "mcp-session-id", peer.session());
            shared.heard(flood, "\"id\":7");
            Wait.until(
                    "it waits for its client",
                    () -> stats(gateway).writeStalls().values().stream()
                                    .mapToLong(Long::longValue)
                                    .sum()
                            > 0);

            int call = shared.post(
                    TestJson.of("{'jsonrpc':'2.0','id':8,'method':'who'}"), "mcp-session-id", beside.session());

            shared.heard(call, "\"id\":8");
        }
    }

    @Test
    void noCallIsLostWhileTheCertificateChanges() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        CompletableFuture<Void> enough = new CompletableFuture<>();
        ExecutorService threads = Executors.newCachedThreadPool();
        try (TestGateway gateway = gateway()) {
            List<Future<?>> callers = new ArrayList<>();
            for (Version version : Version.values()) {
                HttpPeer kept = HttpPeer.connected(client(version), gateway.url());
                callers.add(threads.submit(() -> call(kept, false, calls, enough)));
                HttpPeer renewed = HttpPeer.connected(client(version), gateway.url());
                callers.add(threads.submit(() -> call(renewed, true, calls, enough)));
            }
            for (int i = 0; i < RELOADS; i++) {
                TestCertificate next = i % 2 == 0 ? other : one;
                next.into(folder);
                Wait.until(
                        "new connections get the new certificate",
                        () -> served(gateway.url()).equals(next.chain().get(0)));
            }
            enough.complete(null);
            for (Future<?> caller : callers) {
                caller.get();
            }
            assertThat(calls.get()).isGreaterThan(4 * RELOADS);
        } finally {
            enough.complete(null);
            threads.shutdown();
        }
    }

    /** Calls without a pause, if wanted on a connection of its own each time; any failure is one of the test. */
    private static Void call(HttpPeer peer, boolean anew, AtomicInteger calls, CompletableFuture<Void> enough)
            throws Exception {
        for (int i = 1; !enough.isDone(); i++) {
            HttpPeer caller = anew ? peer.over(client(i % 2 == 0 ? Version.HTTP_2 : Version.HTTP_1_1)) : peer;
            assertThat(caller.call(i, "who")).contains("\"server\"");
            calls.incrementAndGet();
        }
        return null;
    }

    private static Certificate served(URI url) {
        try (SSLSocket socket = (SSLSocket) TestCertificate.trusting(one, other)
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), url.getPort())) {
            return socket.getSession().getPeerCertificates()[0];
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private GatewayProcess trusting(String... words) throws IOException {
        return GatewayProcess.start(
                folder,
                List.of(
                        "-Djavax.net.ssl.trustStore=" + store.resolve("made.p12"),
                        "-Djavax.net.ssl.trustStorePassword=" + TestCertificate.PASSWORD),
                List.of(words));
    }

    @Test
    void connectAndDoctorComeThroughIt() throws Exception {
        try (TestGateway gateway = TestGateway.demo(words());
                GatewayProcess connect = trusting("connect", gateway.url().toString());
                GatewayProcess doctor =
                        trusting("doctor", "--for", "2s", gateway.url().toString())) {
            BridgeProcess bridge =
                    new BridgeProcess(connect.process(), connect.process().inputReader());
            bridge.begin();
            assertThat(bridge.ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"))
                    .contains("\"echo\"");
            String said = new String(doctor.process().getInputStream().readAllBytes(), UTF_8);
            assertThat(doctor.exitCode(60)).as(said).isZero();
        }
    }
}
