package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.ShellServer;
import dev.holdfast.redis.FreePort;
import dev.holdfast.redis.RedisServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The whole output at {@code --log-level trace}, of real traffic and its failures. */
@Timeout(180)
class SecretsInLogTest {
    private static final String REDIS = "red15-pa55word-of-this-store";
    private static final String TOKEN = "t0ken-of-alice-0123456789";
    private static final String UNKNOWN = "t0ken-that-nobody-knows-77";
    private static final String KEY = "k3y-for-the-upstream-4711";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<String> secrets = new ArrayList<>(List.of(REDIS, TOKEN, UNKNOWN, KEY));

    private ProcessBuilder gateway(String log, String... words) throws IOException {
        return GatewayProcess.builder(folder, List.of(), Arrays.asList(words))
                .redirectError(folder.resolve(log).toFile());
    }

    private GatewayProcess serve(String log, List<String> options, String... command) throws IOException {
        List<String> words = new ArrayList<>(List.of("serve", "--log-level", "trace"));
        words.addAll(options);
        words.addAll(Arrays.asList(command));
        return new GatewayProcess(gateway(log, words.toArray(String[]::new)).start());
    }

    private String log(String name) {
        try {
            return Files.readString(folder.resolve(name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path file(String name, String text) throws IOException {
        return Files.writeString(folder.resolve(name), text);
    }

    /** Whole ids of sessions are credentials too. */
    private HttpPeer connected(URI url, String... headers) {
        HttpPeer peer = HttpPeer.connected(url, headers);
        secrets.add(peer.session());
        return peer;
    }

    private static void stop(GatewayProcess gateway) throws InterruptedException {
        gateway.process().destroy();
        assertThat(gateway.exitCode(30)).isZero();
    }

    private void assertNoSecretIn(String log) {
        assertThat(log(log)).contains(" DEBUG ").doesNotContain(secrets);
    }

    @Test
    void thatOfAGatewayWithRedisAndTokensShowsNone() throws Exception {
        List<String> options = new ArrayList<>(List.of(
                "--port",
                "0",
                "--store-password-file",
                file("password", REDIS).toString(),
                "--auth-token-file",
                file("tokens", "alice " + TOKEN + "\n").toString(),
                "--store"));
        List<String> command = TestGateway.words(List.of("--"), ShellServer.COMMAND.words());
        try (RedisServer redis = RedisServer.start("--requirepass", REDIS)) {
            options.add(redis.url());
            try (GatewayProcess gateway = serve("log", options, command.toArray(String[]::new))) {
                URI url = gateway.url();
                HttpPeer peer = connected(url, "Authorization", "Bearer " + TOKEN);
                TestGateway.server(peer, 1);
                assertThat(peer.with("Authorization", "Bearer " + UNKNOWN)
                                .post("{'jsonrpc':'2.0','id':2,'method':'ping'}")
                                .statusCode())
                        .isEqualTo(401);
                assertThat(peer.post("no JSON").statusCode()).isEqualTo(400);
                redis.kill();
                Wait.until("Redis is missed", () -> log("log").contains(" WARN "));
                redis.startAgain();
                Wait.until("Redis is back", Wait.START, () -> {
                    HttpPeer again = new HttpPeer(url).with("Authorization", "Bearer " + TOKEN);
                    return again.post(TestJson.INITIALIZE).statusCode() == 200;
                });
                stop(gateway);
            }
            assertNoSecretIn("log");

            options.set(3, file("wrong", KEY).toString());
            try (GatewayProcess refused = serve("refused", options, command.toArray(String[]::new))) {
                assertThat(refused.exitCode(60)).isEqualTo(1);
            }
            assertThat(log("refused")).contains("holdfast: " + redis.url()).doesNotContain(secrets);
        }
    }

    @Test
    void thoseOfAGatewayBeforeAnUpstreamAndOfABridgeShowNone() throws Exception {
        String port = Integer.toString(FreePort.next());
        List<String> upstream = List.of("--store", "memory", "--port", port, "--auth-token-file");
        Path tokens = file("tokens", "alice " + TOKEN + "\n");
        List<String> own = TestGateway.words(upstream, List.of(tokens.toString()));
        List<String> command = TestGateway.words(List.of("--"), ShellServer.COMMAND.words());
        String[] words = command.toArray(String[]::new);
        try (GatewayProcess server = serve("upstream", own, words)) {
            String remote = server.url().toString();
            try (GatewayProcess gateway = serve(
                    "gateway",
                    List.of(
                            "--port",
                            "0",
                            "--store",
                            "memory",
                            "--forward-header",
                            "Authorization,X-Key",
                            "--upstream"),
                    remote)) {
                URI url = gateway.url();
                HttpPeer peer = connected(url, "Authorization", "Bearer " + TOKEN, "X-Key", KEY, "X-Other", REDIS);
                TestGateway.server(peer, 1);
                peer.with("Authorization", "Bearer " + UNKNOWN, "X-Key", KEY)
                        .post("{'jsonrpc':'2.0','id':2,'method':'who'}");
                Path headers = file("headers", "Authorization: Bearer " + TOKEN + "\nX-Key: " + KEY + "\n");
                Process process = gateway(
                                "bridge",
                                "connect",
                                "--log-level",
                                "trace",
                                "--header-file",
                                headers.toString(),
                                remote)
                        .start();
                try (BridgeProcess bridge = new BridgeProcess(process, process.inputReader())) {
                    bridge.begin();
                    assertThat(bridge.ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"who\"}"))
                            .contains("server");
                    stop(server);
                    try (GatewayProcess again = serve("again", own, words)) {
                        assertThat(again.url().getPort()).hasToString(port);
                        assertThat(bridge.ask("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"who\"}"))
                                .contains("server");
                        Files.writeString(tokens, "alice " + UNKNOWN + "\n");
                        Wait.until("the token is refused", () -> {
                            HttpResponse<String> answer = peer.post("{'jsonrpc':'2.0','id':3,'method':'who'}");
                            return answer.statusCode() == 401 || answer.body().contains("\"error\"");
                        });
                        assertThat(bridge.ask("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"who\"}"))
                                .contains("error");
                        stop(gateway);
                    }
                    process.getOutputStream().close();
                    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
                }
            }
        }
        assertNoSecretIn("upstream");
        assertNoSecretIn("gateway");
        assertThat(log("again")).doesNotContain(secrets);
        assertThat(log("bridge")).contains(" WARN ").doesNotContain(secrets);
    }
}
