package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import java.net.URI;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class GatewayTest {
    @Test
    void aCallGoesThroughTheWholeGateway() {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer peer = HttpPeer.connected(gateway.url());

            assertThat(peer.call(1, "tools/call")).startsWith("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\"");
        }
    }

    @Test
    void everySessionHasAProcessOfItsOwn() {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer one = HttpPeer.connected(gateway.url());
            HttpPeer other = HttpPeer.connected(gateway.url());

            assertThat(TestGateway.server(one, 1)).isNotEqualTo(TestGateway.server(other, 1));
            assertThat(TestGateway.server(one, 2)).isEqualTo(TestGateway.server(one, 3));
        }
    }

    @Test
    void aServerThatChoosesARevisionThatIsNotServedIsRefusedAtOnce() {
        String chosen = TestJson.INITIALIZED_RESULT.replaceFirst("20\\d\\d-\\d\\d-\\d\\d", "2030-01-01");
        String script = "read line; echo '" + chosen + "'; while read line; do :; done";
        try (TestGateway gateway = TestGateway.of(StdioBed.script(script))) {
            HttpResponse<String> response = new HttpPeer(gateway.url()).post(TestJson.INITIALIZE);

            assertThat(response.headers().firstValue("Mcp-Session-Id")).isEmpty();
            assertThat(response.body())
                    .contains("\"error\"")
                    .contains("2030-01-01")
                    .contains("served are 2025-11-25");
            Wait.until("the session has ended", () -> gateway.gateway.engine().size() == 0);
        }
    }

    /** Tells of its progress, asks, and answers with what it was told. */
    private static final String ASKING = """
            read -r line; read -r line
            while read -r line; do
              echo '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
              echo '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"may I?"}}'
              read -r answer
              case $answer in *'cannot be asked'*) told=declined ;; *) told=something ;; esac
              echo '{"jsonrpc":"2.0","id":7,"result":{"told":"'$told'"}}'
            done
            """;

    @Test
    void openLiberty35727_aClientOfJsonIsAnsweredByJsonThoughTheServerAsks() {
        String script = "echo '" + TestJson.INITIALIZED_RESULT + "'; " + ASKING;
        try (TestGateway gateway = TestGateway.of(StdioBed.script(script))) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            HttpResponse<String> response = peer.post(
                    "{'jsonrpc':'2.0','id':7,'method':'tools/call','params':{'_meta':{'progressToken':1}}}",
                    "application/json");

            assertThat(response.headers().firstValue("Content-Type")).contains("application/json;charset=utf-8");
            assertThat(response.body()).contains("{\"told\":\"declined\"}").doesNotContain("progress");
        }
    }

    @Test
    void honojs1799_eachFormOfAnAnswerAloneIsEnough() {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            for (String type : List.of("application/json", "text/event-stream")) {
                for (String message : List.of(TestJson.INITIALIZE, "{'jsonrpc':'2.0','id':7,'method':'who'}")) {
                    HttpResponse<String> response = peer.post(message, type);
                    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
                    assertThat(response.headers().firstValue("Content-Type")).contains(type + ";charset=utf-8");
                    assertThat(response.body()).contains("\"result\"");
                }
            }
            HttpResponse<String> refused = peer.post("{'jsonrpc':'2.0','id':8,'method':'who'}", "text/html");
            assertThat(refused.statusCode()).isEqualTo(406);
            assertThat(refused.body()).contains("must accept application/json or text/event-stream");
        }
    }

    @Test
    void litellm34845_aSlashAtTheEndOfAPathMakesNoDifference() {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer peer = HttpPeer.connected(URI.create(gateway.url() + "/"));

            assertThat(peer.call(1, "tools/call")).contains("\"result\"");
            HttpPeer plain = peer.at(gateway.url());
            assertThat(plain.call(2, "tools/call")).contains("\"result\"");
            HttpResponse<Stream<String>> listening = Wait.until(peer.listened());
            assertThat(listening.statusCode()).isEqualTo(200);
            assertThat(peer.delete().statusCode()).isEqualTo(200);
            assertThat(listening.body().toList()).isNotEmpty();
            assertThat(plain.post("{'jsonrpc':'2.0','id':2,'method':'ping'}").statusCode())
                    .isEqualTo(404);
            HttpResponse<Stream<String>> sse =
                    Wait.until(peer.at(gateway.url().resolve("/sse/")).listened());
            try (Stream<String> lines = sse.body()) {
                assertThat(lines.filter(line -> line.startsWith("data: ")).findFirst())
                        .hasValueSatisfying(line -> assertThat(line).startsWith("data: /message?sessionId="));
            }
        }
    }

    @Test
    void omniRoute5957_initializeOpensASessionWhateverSessionItNames() {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer live = HttpPeer.connected(gateway.url());
            HttpPeer ended = HttpPeer.connected(gateway.url());
            assertThat(ended.delete().statusCode()).isEqualTo(200);

            assertThat(live.post(TestJson.INITIALIZE).headers().firstValue("Mcp-Session-Id"))
                    .isPresent()
                    .get()
                    .isNotEqualTo(live.session());
            assertThat(ended.post(TestJson.INITIALIZE).headers().firstValue("Mcp-Session-Id"))
                    .isPresent();
            assertThat(live.call(1, "tools/call")).contains("\"result\"");
        }
    }

    @Test
    void deleteEndsTheProcess() {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            ProcessHandle server = TestGateway.server(peer, 1);

            assertThat(peer.delete().statusCode()).isEqualTo(200);

            Wait.until("the process has ended", () -> !server.isAlive());
            assertThat(peer.post("{'jsonrpc':'2.0','id':2,'method':'ping'}").statusCode())
                    .isEqualTo(404);
        }
    }

    @Test
    void expiryEndsTheProcess() {
        try (TestGateway gateway = new TestGateway("--idle-timeout", "6s", "--reconnect-grace", "6s")) {
            ProcessHandle server = TestGateway.server(HttpPeer.connected(gateway.url()), 1);

            Wait.until("the process has ended", () -> !server.isAlive());

            Wait.until("the session is gone", () -> gateway.gateway.engine().size() == 0);
        }
    }

    @Test
    void aKilledServerFailsItsCallAtOnceAndTheNextCallHasAFreshOne() {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            ProcessHandle server = TestGateway.server(peer, 1);
            long start = System.nanoTime();

            String answer = peer.call(2, "die");

            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(15));
            assertThat(answer).contains("\"error\"").contains("the server process was ended by signal 9");
            assertThat(TestGateway.server(peer, 3)).isNotEqualTo(server);
        }
    }

    @Test
    void healthTellsSessionsAndWhetherTheGatewayDrains() {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            assertThat(peer.get("/healthz").statusCode()).isEqualTo(200);
            assertThat(peer.get("/healthz").body()).startsWith("{\"status\":\"ok\",\"sessions\":1,\"store\":{");
            CompletableFuture<HttpResponse<Stream<String>>> call = peer.posted(1, "slow");
            Wait.until(call);

            gateway.gateway.engine().drain(Duration.ofSeconds(10));

            assertThat(peer.get("/healthz").statusCode()).isEqualTo(503);
            assertThat(peer.get("/healthz").body()).contains("draining");
            assertThat(Wait.until(call).body()).anyMatch(line -> line.contains("\"id\":1,\"result\""));
        }
    }

    @Test
    void stoppingWaitsForCallsAndEndsEveryProcess() {
        TestGateway gateway = new TestGateway();
        HttpPeer peer = HttpPeer.connected(gateway.url());
        ProcessHandle server = TestGateway.server(peer, 1);
        CompletableFuture<HttpResponse<Stream<String>>> call = peer.posted(2, "slow");
        Stream<String> lines = Wait.until(call).body();

        gateway.gateway.stop(Duration.ofSeconds(10));

        assertThat(lines).anyMatch(line -> line.contains("\"id\":2,\"result\""));
        Wait.until("the child is gone", () -> !server.isAlive());
    }

    @Test
    void whatIsNotServedIsAnsweredWithoutAWordAboutTheServer() {
        try (TestGateway gateway = new TestGateway()) {
            HttpResponse<String> response = new HttpPeer(gateway.url()).get("/other");

            assertThat(response.statusCode()).isEqualTo(404);
            assertThat(response.headers().firstValue("Content-Type")).contains("application/json;charset=utf-8");
            assertThat(response.headers().map()).doesNotContainKey("Server");
            assertThat(response.body())
                    .isEqualTo(
                            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"404 Not Found\"}}");
        }
    }
}
