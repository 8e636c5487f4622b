package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.RedisStore;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two gateways, as they are by default, over a Redis that takes 1 MiB at once, or holds what nobody has written. */
class RedisLimitsTest {
    private static final String SCRIPT = """
            while read -r line; do
              id=${line#*'"id":'}
              id=${id%%[,\\}]*}
              size=1
              case $line in
                *'"method":"notifications/'*) continue ;;
                *'"method":"big"'*) echo run >> RUNS; size=1500000 ;;
                *'"method":"patient"'*) (sleep 8; printf '{"jsonrpc":"2.0","id":%s,"result":{}}\\n' "$id") & continue ;;
              esac
              printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"data":"' "$id"
              head -c $size /dev/zero | tr '\\0' x
              printf '"}}\\n'
            done
            """;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private RedisServer redis;
    private TestGateway one;
    private TestGateway two;

    @BeforeEach
    void start() {
        redis = RedisServer.start("--proto-max-bulk-len", "1mb");
        one = gateway("one");
        two = gateway("two");
    }

    private TestGateway gateway(String node) {
        return TestGateway.of(
                StdioBed.script(SCRIPT.replace("RUNS", folder.resolve("runs").toString())),
                new StoreChoice.Redis(
                        RedisStore.builder(redis.url()), new StoreChoice.Node(node, Duration.ofSeconds(3))));
    }

    @AfterEach
    void stop() {
        one.close();
        two.close();
        redis.close();
    }

    private static String health(HttpPeer peer) {
        return peer.get("/healthz").body();
    }

    @Test
    void anAnswerThatIsTooLargeForRedisEndsItsCallAndNothingElse() throws Exception {
        HttpPeer here = HttpPeer.connectedAtLast(one.url());
        HttpPeer there = here.at(two.url());
        HttpPeer other = HttpPeer.connectedAtLast(one.url());
        CompletableFuture<HttpResponse<Stream<String>>> running = other.posted(7, "patient");
        int id = 10;
        for (HttpPeer peer : List.of(here, there)) {
            HttpResponse<String> answer = peer.post("{'jsonrpc':'2.0','id':" + ++id + ",'method':'big'}");
            assertThat(answer.statusCode()).isEqualTo(200);
            assertThat(answer.body())
                    .contains("\"id\":" + id, "\"error\"", "too many for the session store", "at most 1048576 at once");
            assertThat(peer.call(++id, "small")).contains("\"result\"");
            assertThat(other.call(++id, "small")).contains("\"result\"");
            assertThat(health(peer)).contains("\"status\":\"ok\"");
        }
        assertThat(Files.readAllLines(folder.resolve("runs")))
                .as("how often the calls ran")
                .hasSize(2);
        assertThat(Wait.until(running).body()).anyMatch(line -> line.contains("\"id\":7,\"result\""));
    }

    @ParameterizedTest
    @ValueSource(strings = {"e", ""})
    void aSessionWhoseKeyHoldsSomethingElseEndsAndNoOther(String which) {
        HttpPeer here = HttpPeer.connectedAtLast(one.url());
        HttpPeer there = here.at(two.url());
        assertThat(there.call(2, "small")).contains("\"result\"");
        String record = redis.command("KEYS", "*}").trim();
        HttpPeer other = HttpPeer.connectedAtLast(one.url());
        CompletableFuture<HttpResponse<Stream<String>>> at = here.posted(7, "patient");
        CompletableFuture<HttpResponse<Stream<String>>> from = there.posted(8, "patient");
        Wait.until("both run", () -> here.get("/stats").body().contains("\"runningCalls\":2"));
        String key = which.equals("e") ? record + "e" : record;
        redis.command("SET", key, "x");

        for (CompletableFuture<HttpResponse<Stream<String>>> call : List.of(at, from)) {
            HttpResponse<Stream<String>> answer = Wait.until(call);
            assertThat(answer.body().toList())
                    .as("status " + answer.statusCode())
                    .anyMatch(line -> line.contains("\"error\""));
        }
        Wait.until(
                "it is gone at both",
                () -> here.post("{'jsonrpc':'2.0','id':9,'method':'small'}").statusCode() == 404
                        && there.post("{'jsonrpc':'2.0','id':9,'method':'small'}")
                                        .statusCode()
                                == 404);
        assertThat(other.call(3, "small")).contains("\"result\"");
        assertThat(other.at(two.url()).call(4, "small")).contains("\"result\"");
        Wait.until(
                "all is well",
                () -> health(here).contains("\"status\":\"ok\"")
                        && health(there).contains("\"status\":\"ok\""));
    }

    /** A server, or whoever hosts it, that lacks a command. */
    @Test
    void anErrorThatNobodyKnowsIsInTheHealthUntilItIsOver() {
        HttpPeer here = HttpPeer.connectedAtLast(one.url());
        redis.command("ACL", "SETUSER", "default", "-hmget");
        assertThat(here.post("{'jsonrpc':'2.0','id':2,'method':'small'}").body())
                .contains("whether it had any effect is not known");
        assertThat(health(here)).contains("\"status\":\"degraded\"", "the log says why");
        redis.command("ACL", "SETUSER", "default", "+hmget");
        Wait.until("it is well again", () -> health(here).contains("\"status\":\"ok\""));
        Wait.until(
                "it is served",
                () -> here.post("{'jsonrpc':'2.0','id':3,'method':'small'}").statusCode() == 200);
    }
}
