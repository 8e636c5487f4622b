package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.ScriptedUpstream.Act;
import dev.holdfast.gateway.ScriptedUpstream.Asked;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sessions at a server over HTTP that is elsewhere by now, or wants other headers, as the file of a gateway says. */
@Timeout(120)
class MovedUpstreamTest {
    private static final List<String> ALL = List.of("initialize", "notifications/initialized", "ping", "who", "GET");

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @AutoClose
    private final ScriptedUpstream before = server("before");

    @AutoClose
    private final ScriptedUpstream after = server("after");

    private static ScriptedUpstream server(String name) {
        return new ScriptedUpstream().on("who", asked -> asked.result(name));
    }

    private void write(ScriptedUpstream server, String token) {
        write(server.url(), token);
    }

    private void write(URI server, String token) {
        Path fresh = folder.resolve("new");
        try {
            Files.writeString(
                    fresh,
                    TestJson.of("{'mcpServers':{'s':{'url':'" + server + "','headers':{'X-Token':'" + token + "'}}}}"));
            Files.move(fresh, folder.resolve("servers.json"), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A gateway whose server is the first one. */
    private TestGateway gateway() {
        write(before, "old");
        return TestGateway.demo("--config", folder.resolve("servers.json").toString());
    }

    private static HttpPeer peer(TestGateway gateway) {
        return HttpPeer.connectedAtLast(gateway.url().resolve("/s/mcp"));
    }

    /** Changes the file, until sessions that begin have what it says. */
    private void change(TestGateway gateway, ScriptedUpstream server, String token) {
        write(server, token);
        Wait.until("the change is taken", () -> {
            HttpPeer peer = peer(gateway);
            peer.call(9, "who");
            peer.delete();
            return server.asked("who").stream()
                    .anyMatch(asked -> asked.header("X-Token").equals(token));
        });
    }

    private static Asked last(ScriptedUpstream server) {
        List<Asked> asked = server.asked("who");
        return asked.get(asked.size() - 1);
    }

    private void doesWithAll(Act act) {
        ALL.forEach(what -> before.on(what, act));
    }

    private static void error(Asked asked, int status, String text) throws IOException {
        byte[] body = TestJson.of(
                        "{'jsonrpc':'2.0','id':" + asked.id() + ",'error':{'code':1,'message':'" + text + "'}}")
                .getBytes(UTF_8);
        asked.exchange().getResponseHeaders().set("Content-Type", "application/json");
        asked.exchange().sendResponseHeaders(status, body.length);
        asked.exchange().getResponseBody().write(body);
        asked.exchange().close();
    }

    @Test
    void aSessionThatRunsSendsNewHeadersAtOnceAndLosesNothing() {
        CountDownLatch finished = new CountDownLatch(1);
        before.on("slow", asked -> {
            Wait.until(finished);
            asked.result("slow");
        });
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = peer(gateway);
            assertThat(peer.call(1, "who")).contains("before");
            CompletableFuture<HttpResponse<Stream<String>>> running = peer.posted(2, "slow");
            Wait.until("the call runs", () -> before.asked("slow").size() == 1);
            change(gateway, before, "new");
            before.on("who", asked -> {
                if (asked.header("X-Token").equals("new")) {
                    asked.result("new");
                } else {
                    asked.status(401);
                }
            });

            assertThat(peer.call(3, "who")).contains("\"text\":\"new\"");

            assertThat(last(before).header("Mcp-Session-Id")).isEqualTo("session-1");
            finished.countDown();
            assertThat(Wait.until(running).body()).anyMatch(line -> line.contains("\"text\":\"slow\""));
        }
    }

    /** A mistyped URL is put back. */
    @Test
    void aServerThatComesBackToItsUrlHasItsSessionsStill() {
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = peer(gateway);
            peer.call(1, "who");
            change(gateway, after, "old");
            change(gateway, before, "new");

            assertThat(peer.call(2, "who")).contains("before");
            assertThat(last(before).header("Mcp-Session-Id")).isEqualTo("session-1");
            assertThat(last(before).header("X-Token")).isEqualTo("new");
        }
    }

    /** The token may be somebody else's. */
    @Test
    void aSessionThatRefusesNewHeadersIsReplaced() {
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = peer(gateway);
            peer.call(1, "who");
            for (String what : List.of("who", "ping")) {
                before.on(what, asked -> {
                    boolean mine = asked.header("Mcp-Session-Id").equals("session-1");
                    if (mine && asked.header("X-Token").equals("new")) {
                        asked.status(403);
                    } else {
                        asked.result("again");
                    }
                });
            }
            change(gateway, before, "new");

            assertThat(peer.call(2, "who")).contains("\"text\":\"again\"");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {401, 403, 405, 410, 307})
    void whatIsRefusedWhereTheServerWasRunsWhereItIs(int status) {
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = peer(gateway);
            peer.call(1, "who");
            change(gateway, after, "new");
            assertThat(peer.call(2, "who")).as("it serves the session yet").contains("before");
            doesWithAll(asked -> asked.status(status));

            assertThat(peer.call(3, "who")).contains("after");
            assertThat(last(after).header("X-Token")).isEqualTo("new");
            assertThat(before.asked)
                    .as("what is for one server is sent to no other")
                    .noneMatch(asked -> asked.header("X-Token").equals("new"));
        }
    }

    @Test
    void soItIsInASessionWithoutAnId() {
        before.on("initialize", asked -> asked.result("hello"));
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = peer(gateway);
            peer.call(1, "who");
            change(gateway, after, "new");
            doesWithAll(asked -> asked.status(401));

            assertThat(peer.call(2, "who")).contains("after");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {200, 500, 502})
    void whatMayHaveBeenExecutedEndsAndWhatComesNextRunsWhereTheServerIs(int status) {
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = peer(gateway);
            peer.call(1, "who");
            change(gateway, after, "new");
            int ran = after.asked("who").size();
            doesWithAll(asked -> asked.status(status));

            assertThat(peer.call(2, "who")).contains("it is not known whether the upstream has executed the request");
            assertThat(after.asked("who")).hasSize(ran);
            assertThat(peer.call(3, "who")).contains("after");
        }
    }

    @Test
    void soItIsWhereTheServerHasReadTheRequestThatItRefuses() {
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = peer(gateway);
            peer.call(1, "who");
            change(gateway, after, "new");
            int ran = after.asked("who").size();
            doesWithAll(asked -> error(asked, 401, "expired"));

            assertThat(peer.call(2, "who")).contains("expired");
            assertThat(after.asked("who")).hasSize(ran);
            assertThat(peer.call(3, "who")).contains("after");
        }
    }

    @Test
    void theRefusalOfOneMessageEndsNoSession() {
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = peer(gateway);
            peer.call(1, "who");
            change(gateway, after, "new");
            before.on("bad", asked -> asked.status(400));

            assertThat(peer.call(2, "bad")).contains("HTTP status 400");
            assertThat(peer.call(3, "who")).contains("before");
        }
    }

    /** So that no request goes to a server that is away by now on a connection which is there yet. */
    private void closesConnections() {
        before.on("initialize", asked -> before.welcome(closing(asked)))
                .on("notifications/initialized", asked -> closing(asked).status(202))
                .on("GET", asked -> closing(asked).status(405))
                .on("who", asked -> closing(asked).result("before"));
    }

    private static Asked closing(Asked asked) {
        asked.exchange().getResponseHeaders().set("Connection", "close");
        return asked;
    }

    @Test
    void allThatFindNobodyWhereTheServerWasRunWhereItIs() {
        closesConnections();
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = peer(gateway);
            peer.call(1, "who");
            change(gateway, after, "new");
            before.close();

            List<CompletableFuture<HttpResponse<Stream<String>>>> calls =
                    IntStream.range(2, 5).mapToObj(id -> peer.posted(id, "who")).toList();

            for (CompletableFuture<HttpResponse<Stream<String>>> call : calls) {
                assertThat(Wait.until(call).body()).anyMatch(line -> line.contains("\"text\":\"after\""));
            }
        }
    }

    @Test
    void whatMayRunTwiceRunsWhereTheServerIsThoughItMayHaveBeenExecuted() {
        after.on("tools/list", asked -> asked.result("after"));
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = peer(gateway);
            peer.call(1, "who");
            change(gateway, after, "new");
            before.on("tools/list", asked -> before.close());

            assertThat(peer.call(2, "tools/list")).contains("\"text\":\"after\"");
        }
    }

    @Test
    void whatWaitsForAServerThatIsAwayRunsWhereItIsOnceThatIsKnown() {
        closesConnections();
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = peer(gateway);
            peer.call(1, "who");
            before.close();
            CompletableFuture<HttpResponse<Stream<String>>> waiting = peer.posted(2, "who");
            Wait.until(waiting);

            write(after, "new");

            assertThat(waiting.join().body()).anyMatch(line -> line.contains("\"text\":\"after\""));
        }
    }

    @Test
    void aClientThatOnlyListensHearsTheServerWhereItIs() {
        before.on("GET", MovedUpstreamTest::listens);
        after.on("GET", MovedUpstreamTest::listens);
        try (TestGateway gateway = gateway()) {
            HttpPeer peer = peer(gateway);
            Wait.until("the gateway listens", () -> !before.asked("GET").isEmpty());
            HttpResponse<Stream<String>> heard = Wait.until(peer.listened());
            change(gateway, after, "new");
            int heardThere = after.asked("GET").size();
            before.close();

            Wait.until("the gateway listens again", () -> after.asked("GET").size() > heardThere);
            heard.body().close();
        }
    }

    @Test
    void aSessionOverHttpSseGoesOnWhereItIsAndThenWhereTheServerIs() {
        String call =
                "{'jsonrpc':'2.0','id':%d,'method':'tools/call','params':{'name':'echo','arguments':{'text':'hello'}}}";
        TestGateway old = TestGateway.demo();
        try (old;
                TestGateway next = TestGateway.demo()) {
            write(old.url().resolve("/sse"), "any");
            try (TestGateway gateway =
                    TestGateway.demo("--config", folder.resolve("servers.json").toString())) {
                HttpPeer peer = peer(gateway);
                assertThat(peer.post(call.formatted(2)).body()).contains("hello");
                write(next.url().resolve("/sse"), "any");
                Wait.until("sessions begin at the next one", () -> {
                    peer(gateway).post(call.formatted(2));
                    return next.gateway.engine().size() > 0;
                });
                int others = next.gateway.engine().size();

                assertThat(peer.post(call.formatted(3)).body()).contains("hello");
                assertThat(next.gateway.engine().size()).isEqualTo(others);
                old.close();
                assertThat(peer.post(call.formatted(4)).body()).contains("hello");
                assertThat(next.gateway.engine().size()).isGreaterThan(others);
            }
        }
    }

    /** A stream that stays open. */
    private static void listens(Asked asked) throws IOException {
        OutputStream out = asked.stream();
        out.write(": hello\n\n".getBytes(UTF_8));
        out.flush();
    }
}
