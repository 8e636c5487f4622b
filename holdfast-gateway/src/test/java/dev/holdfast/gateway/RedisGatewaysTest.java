package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.RedisStore;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two gateways over one Redis, whose clients reach now the one, now the other. */
class RedisGatewaysTest {
    private RedisServer redis;
    private TestGateway one;
    private TestGateway two;

    @BeforeEach
    void start() {
        redis = RedisServer.start();
        one = TestGateway.demo(store("one"));
        two = TestGateway.demo(store("two"));
    }

    @AfterEach
    void stop() {
        one.close();
        two.close();
        redis.close();
    }

    /** Waits for Redis, and has its lease, for longer than a busy machine stands still. */
    private StoreChoice store(String node) {
        return new StoreChoice.Redis(
                RedisStore.builder(redis.url()).timeout(Wait.PATIENCE),
                new StoreChoice.Node(node, Wait.PATIENCE.plusSeconds(10)));
    }

    /** Notices soon that Redis is away. */
    private StoreChoice impatient(String node) {
        return new StoreChoice.Redis(
                RedisStore.builder(redis.url()), new StoreChoice.Node(node, Duration.ofSeconds(3)));
    }

    private static HttpResponse<String> echo(HttpPeer peer, int id) {
        return peer.post("{'jsonrpc':'2.0','id':" + id
                + ",'method':'tools/call','params':{'name':'echo','arguments':{'text':'hello " + id + "'}}}");
    }

    @Test
    void eachRequestOfASessionMayReachAnotherGateway() {
        HttpPeer here = HttpPeer.connected(one.url());
        HttpPeer there = here.at(two.url());
        for (int id = 1; id <= 20; id++) {
            HttpResponse<String> answer = echo(id % 2 == 0 ? here : there, id);
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
            assertThat(answer.body()).contains("hello " + id);
        }
        assertThat(there.delete().statusCode()).isEqualTo(200);
        Wait.until("the session is gone at both", () -> echo(here, 30).statusCode() == 404);
        assertThat(echo(there, 31).statusCode()).isEqualTo(404);
    }

    @Test
    void omniRoute5957_initializeAtOneOpensASessionWhateverSessionOfTheOtherItNames() {
        HttpPeer here = HttpPeer.connected(one.url());

        HttpResponse<String> opened = here.at(two.url()).post(TestJson.INITIALIZE);

        assertThat(opened.statusCode()).as(opened.body()).isEqualTo(200);
        assertThat(opened.headers().firstValue("Mcp-Session-Id").orElseThrow()).isNotEqualTo(here.session());
        assertThat(echo(here, 1).body()).contains("hello 1");
        assertThat(echo(here.at(two.url()), 2).body()).contains("hello 2");
    }

    @Test
    void claudeAiMcp539_callsWithOneIdAreAnsweredEachOnItsOwnConnectionAtBoth() {
        HttpPeer here = HttpPeer.connected(one.url());
        HttpPeer there = here.at(two.url());
        List<CompletableFuture<HttpResponse<Stream<String>>>> calls = new ArrayList<>();
        for (int steps = 2; steps <= 9; steps++) {
            HttpPeer peer = steps % 2 == 0 ? here : there;
            calls.add(peer.posted(
                    "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'slow','arguments':{'ms':"
                            + (1_000 - 50 * steps) + ",'steps':" + steps + "},'_meta':{'progressToken':1}}}"));
        }
        for (int steps = 2; steps <= 9; steps++) {
            String total = "\"total\":" + steps;
            List<String> messages = Wait.until(calls.get(steps - 2))
                    .body()
                    .filter(line -> line.startsWith("data: {"))
                    .toList();
            assertThat(messages).hasSize(steps + 1).last().asString().contains("\"id\":1", "in " + steps + " steps");
            assertThat(messages.subList(0, steps))
                    .allSatisfy(progress -> assertThat(progress).contains(total, "\"progressToken\":1"));
        }
    }

    @Test
    void aCallThatRunsAtOneEndsWithAnErrorWhenItsSessionIsDeletedAtTheOther() {
        HttpPeer here = HttpPeer.connected(one.url());
        Iterator<String> lines = Wait.until(here.posted("{'jsonrpc':'2.0','id':7,'method':'tools/call','params':"
                        + "{'name':'slow','arguments':{'ms':600000,'steps':1000},'_meta':{'progressToken':1}}}"))
                .body()
                .iterator();
        List<String> stream = new ArrayList<>();
        do {
            stream.add(lines.next());
        } while (!stream.get(stream.size() - 1).contains("notifications/progress"));
        assertThat(here.at(two.url()).delete().statusCode()).isEqualTo(200);
        lines.forEachRemaining(stream::add);
        List<String> end = stream.stream()
                .filter(line -> !line.isEmpty() && !line.startsWith(":"))
                .toList();
        assertThat(end.get(end.size() - 1))
                .contains("\"id\":7", "\"error\"", "the session has ended: terminated by the client");
        assertThat(end.get(end.size() - 3)).as("what stands before it").startsWith("data: ");
    }

    @Test
    void aSessionOutlivesItsGateway() {
        HttpPeer here = HttpPeer.connected(one.url());
        assertThat(echo(here, 1).statusCode()).isEqualTo(200);
        one.close();
        assertThat(echo(here.at(two.url()), 2).body()).contains("hello 2");
        one = TestGateway.demo(store("one"));
        assertThat(echo(here.at(one.url()), 3).body()).contains("hello 3");
    }

    private static int ping(HttpPeer peer) {
        return peer.post("{'jsonrpc':'2.0','id':9,'method':'ping'}").statusCode();
    }

    @Test
    void theSessionsOfAPrincipalCountForBothGateways(@TempDir Path folder) throws IOException {
        serveChildren();
        Path tokens = Files.writeString(folder.resolve("tokens"), "alice alice-0123456789abcdef\n");
        String[] two = {"--auth-token-file", tokens.toString(), "--max-principal-sessions", "2"};
        String[] alice = {"Authorization", "Bearer alice-0123456789abcdef"};
        try (TestGateway left = new TestGateway(store("left"), two);
                TestGateway right = new TestGateway(store("right"), two)) {
            HttpPeer first = HttpPeer.connected(left.url(), alice);
            HttpPeer second = HttpPeer.connected(right.url(), alice);
            HttpPeer third = HttpPeer.connected(left.url(), alice);
            assertThat(ping(first)).as("it has made room").isEqualTo(404);
            assertThat(ping(first.at(right.url()))).isEqualTo(404);
            assertThat(ping(second)).isEqualTo(200);
            assertThat(third.at(right.url()).delete().statusCode()).isEqualTo(200);
            HttpPeer fourth = HttpPeer.connected(left.url(), alice);
            assertThat(ping(second)).isEqualTo(200);
            assertThat(ping(fourth)).isEqualTo(200);
        }
    }

    /** Two gateways whose sessions have one child in all. */
    private void serveChildren() {
        one.close();
        two.close();
        redis.command("FLUSHALL");
        one = new TestGateway(store("one"));
        two = new TestGateway(store("two"));
    }

    private void fill() {
        redis.command("CONFIG", "SET", "maxmemory", "1");
    }

    @Test
    void aSessionOnTwoGatewaysIsDeletedThoughRedisIsFull() {
        serveChildren();
        HttpPeer here = HttpPeer.connected(one.url());
        HttpPeer there = here.at(two.url());
        CompletableFuture<HttpResponse<Stream<String>>> running = there.posted(7, "patient");
        Wait.until("the call runs", () -> here.get("/stats").body().contains("\"runningCalls\":1"));
        fill();
        assertThat(here.delete().statusCode()).isEqualTo(200);
        assertThat(Wait.until(running).body())
                .as("the call of the other gateway")
                .anyMatch(line -> line.contains("the session has ended: terminated by the client"));
        Wait.until("it is gone at the other", () -> ping(there) == 404);
        assertThat(ping(here)).isEqualTo(404);
    }

    @Test
    void openLiberty35727_aClientOfJsonReachesTheChildOfAnotherGateway() {
        serveChildren();
        HttpPeer here = HttpPeer.connected(one.url());
        for (HttpPeer peer : List.of(here.at(two.url()), here)) {
            HttpResponse<String> answer = peer.post("{'jsonrpc':'2.0','id':7,'method':'slow'}", "application/json");
            assertThat(answer.headers().firstValue("Content-Type")).contains("application/json;charset=utf-8");
            assertThat(answer.body()).startsWith("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\"");
        }
    }

    @Test
    void aCallForTheChildOfAnotherGatewayIsRefusedWhileRedisIsFull() {
        serveChildren();
        HttpPeer there = HttpPeer.connected(one.url()).at(two.url());
        assertThat(ping(there)).isEqualTo(200);
        fill();
        HttpResponse<String> refused = there.post("{'jsonrpc':'2.0','id':8,'method':'ping'}");
        assertThat(refused.statusCode()).isEqualTo(503);
        assertThat(refused.headers().firstValue("Retry-After")).isPresent();
        redis.command("CONFIG", "SET", "maxmemory", "0");
        Wait.until("there is room again", () -> ping(there) == 200);
    }

    @Test
    void whileRedisIsFullHealthSaysThatNothingCanBeWritten() {
        HttpPeer here = HttpPeer.connected(one.url());
        fill();
        assertThat(new HttpPeer(one.url()).post(TestJson.INITIALIZE).statusCode())
                .isEqualTo(503);
        assertThat(here.get("/healthz").body())
                .contains("\"status\":\"degraded\"", "\"trouble\":\"cannot write; the log says why\"");
        redis.command("CONFIG", "SET", "maxmemory", "0");
        Wait.until("it is well again", () -> here.get("/healthz").body().contains("\"status\":\"ok\""));
    }

    @Test
    void whileRedisIsAwayRequestsAreRefusedAndHealthSaysSo() {
        one.close();
        two.close();
        one = TestGateway.demo(impatient("one"));
        two = TestGateway.demo(impatient("two"));
        HttpPeer here = HttpPeer.connectedAtLast(one.url());
        assertThat(here.get("/healthz").body()).contains("\"kind\":\"redis\"", "\"survives\":\"process death\"");
        redis.freeze();
        Wait.until("new sessions are refused", () -> {
            HttpResponse<String> refused = new HttpPeer(two.url()).post(TestJson.INITIALIZE);
            return refused.statusCode() == 503
                    && refused.headers().firstValue("Retry-After").isPresent();
        });
        Wait.until("health says so", () -> here.get("/healthz").body().contains("does not answer"));
        redis.thaw();
        Wait.until(
                "it works again", () -> List.of(200, 404).contains(echo(here, 2).statusCode()));
        for (TestGateway gateway : List.of(one, two)) {
            HttpPeer peer = new HttpPeer(gateway.url());
            Wait.until("health says so", () -> peer.get("/healthz").body().contains("\"status\":\"ok\""));
        }
        assertThat(HttpPeer.connectedAtLast(two.url()).session()).isNotEmpty();
    }

    @Test
    void aGatewayOfAnotherServerIsRefusedUnderThePrefixUnlessItTakesItOver() {
        assertThatThrownBy(() -> new TestGateway(store("another")))
                .isInstanceOf(GatewayException.class)
                .hasMessageContaining(" keeps under holdfast: the sessions of the demo, and this is sh; choose another"
                        + " prefix by --redis-prefix, or take it over by --take-over-store");
        try (TestGateway more = TestGateway.demo(store("more"))) {
            assertThat(echo(HttpPeer.connected(more.url()), 1).statusCode()).isEqualTo(200);
        }
        StoreChoice taken = new StoreChoice.Redis(
                RedisStore.builder(redis.url()).timeout(Wait.PATIENCE).takeOver(),
                new StoreChoice.Node("another", Wait.PATIENCE.plusSeconds(10)));
        try (TestGateway another = new TestGateway(taken)) {
            assertThat(ping(HttpPeer.connected(another.url()))).isEqualTo(200);
        }
    }

    @Test
    void aPostOverHttpSseThatMissesTheNodeOfItsStreamIsToldSo() throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest get = HttpRequest.newBuilder(one.url().resolve("/sse"))
                .header("Accept", "text/event-stream")
                .build();
        try (Stream<String> stream = client.send(get, BodyHandlers.ofLines()).body()) {
            String endpoint = stream.filter(line -> line.startsWith("data: "))
                    .findFirst()
                    .orElseThrow()
                    .substring("data: ".length());
            HttpRequest.Builder post = HttpRequest.newBuilder()
                    .header("Content-Type", "application/json")
                    .POST(BodyPublishers.ofString(TestJson.INITIALIZE));
            HttpResponse<String> elsewhere =
                    client.send(post.uri(two.url().resolve(endpoint)).build(), BodyHandlers.ofString());
            assertThat(elsewhere.statusCode()).isEqualTo(404);
            assertThat(elsewhere.body()).contains("only the node of its stream has it");
        }
    }
}
