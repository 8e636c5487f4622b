package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.upstream.ForwardedHeaders;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whom a real gateway serves: by token, by the name that it is called by, by the page that calls. */
@Timeout(60)
class TrustTest {
    private static final String ALICE = "alice-0123456789abcdef";
    private static final String ALICE_TOO = "alice-fedcba9876543210";
    private static final String BOB = "bob-0123456789abcdef";
    private static final String JSON =
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    private static final String PING = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private String tokens() throws IOException {
        Path file = folder.resolve("tokens");
        Files.writeString(file, "alice " + ALICE + "\nalice " + ALICE_TOO + "\nbob " + BOB + "\n");
        return file.toString();
    }

    /** Sends a request as it is, and returns all that comes back. */
    private static String answer(String address, int port, String start, String headers, String body)
            throws IOException {
        try (Socket socket = new Socket(InetAddress.getByName(address), port)) {
            socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
            String length = body.isEmpty() ? "" : "Content-Length: " + body.length() + "\r\n";
            String request = start + " HTTP/1.1\r\nConnection: close\r\n" + headers + length + "\r\n" + body;
            socket.getOutputStream().write(request.getBytes(ISO_8859_1));
            return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
        }
    }

    private static String local(TestGateway gateway, String start, String headers, String body) throws IOException {
        return answer("127.0.0.1", gateway.url().getPort(), start, "Host: localhost\r\n" + headers, body);
    }

    @ParameterizedTest
    @CsvSource({"127.0.0.1, 127.0.0.1", "localhost, localhost", "0.0.0.0,", "::1,", "fe80::1,", "::,"})
    void aNameToListenOnIsOneThatClientsMayUse(String host, @Nullable String name) throws IOException {
        List<String> names = Gateway.names(host, InetAddress.getByName(host));

        assertThat(names).isEqualTo(name == null ? List.of() : List.of(name));
        assertThat(TestGateway.options(Optional.empty()).edge(names, ForwardedHeaders.NONE))
                .isNotNull();
    }

    private static String bearer(String token) {
        return "Authorization: Bearer " + token + "\r\n";
    }

    private static String session(TestGateway gateway, String token) throws IOException {
        String opened = local(gateway, "POST /mcp", JSON + bearer(token), TestJson.of(TestJson.INITIALIZE));
        assertThat(opened).startsWith("HTTP/1.1 200 ");
        return opened.lines()
                .filter(line -> line.startsWith("Mcp-Session-Id: "))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void nobodyIsServedWithoutATokenAndHealthIsForEverybody() throws IOException {
        try (TestGateway gateway = new TestGateway("--auth-token-file", tokens())) {
            for (String start : List.of("POST /mcp", "GET /mcp", "DELETE /mcp", "GET /sse", "POST /message")) {
                assertThat(local(gateway, start, "", ""))
                        .as(start)
                        .startsWith("HTTP/1.1 401 ")
                        .contains("WWW-Authenticate: Bearer\r\n", "\"error\":{\"code\":-32600");
                assertThat(local(gateway, start, bearer("alice-0123456789abcdeg"), ""))
                        .as(start)
                        .startsWith("HTTP/1.1 401 ")
                        .contains("WWW-Authenticate: Bearer error=\"invalid_token\"\r\n");
            }
            assertThat(local(gateway, "GET /healthz", "", ""))
                    .startsWith("HTTP/1.1 200 ")
                    .endsWith(
                            "\r\n\r\n{\"status\":\"ok\",\"sessions\":0,\"store\":{\"kind\":\"memory\",\"survives\":\"nothing\"}}\n");
        }
    }

    @Test
    void aSessionIsItsPrincipalsByEachOfItsTokens() throws IOException {
        try (TestGateway gateway = new TestGateway("--auth-token-file", tokens())) {
            String session = session(gateway, ALICE) + "\r\n";

            assertThat(local(gateway, "POST /mcp", JSON + session + bearer(ALICE), PING))
                    .startsWith("HTTP/1.1 200 ");
            assertThat(local(gateway, "POST /mcp", JSON + session + bearer(ALICE_TOO), PING))
                    .startsWith("HTTP/1.1 200 ");
            assertThat(local(gateway, "POST /mcp", JSON + session + bearer(BOB), PING))
                    .startsWith("HTTP/1.1 404 ");
            assertThat(local(gateway, "DELETE /mcp", session + bearer(BOB), "")).startsWith("HTTP/1.1 404 ");
            assertThat(local(gateway, "DELETE /mcp", session + bearer(ALICE_TOO), ""))
                    .startsWith("HTTP/1.1 200 ");
        }
    }

    @Test
    void aLargerBodyThanAllowedIsRefused() throws IOException {
        try (TestGateway gateway = new TestGateway("--max-request-size", "100")) {
            assertThat(local(gateway, "POST /mcp", JSON, " ".repeat(101))).startsWith("HTTP/1.1 413 ");
        }
    }

    @Test
    void moreCallsThanAllowedAreRefused() throws IOException {
        try (TestGateway gateway = new TestGateway("--max-calls", "1")) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            Wait.until(peer.posted(1, "patient"));

            assertThat(peer.post("{'jsonrpc':'2.0','id':2,'method':'ping'}").statusCode())
                    .isEqualTo(503);
        }
    }

    @Test
    void anAddressThatOthersCanReachNeedsTokensOrAWord() throws IOException {
        String host = outside();

        assertThatThrownBy(() -> new TestGateway("--host", host))
                .isInstanceOf(GatewayException.class)
                .hasMessageContaining("--auth-token-file")
                .hasMessageContaining("--insecure");
        new TestGateway("--host", host, "--auth-token-file", tokens()).close();
        new TestGateway("--host", host, "--insecure").close();
    }

    @Test
    void anAddressThatOthersCanReachIsCalledByItOrByAListedName() throws IOException {
        String host = outside();
        try (TestGateway gateway = new TestGateway(
                "--host",
                host,
                "--insecure",
                "--allowed-host",
                "mcp.example",
                "--allowed-origin",
                "https://app.example")) {
            int port = gateway.url().getPort();
            String initialize = TestJson.of(TestJson.INITIALIZE);
            for (String name : List.of(host, host + ":" + port, "mcp.example", "MCP.example.:443")) {
                assertThat(answer(host, port, "POST /mcp", JSON + "Host: " + name + "\r\n", initialize))
                        .as(name)
                        .startsWith("HTTP/1.1 200 ");
            }
            for (String name : List.of("rebound.example", "rebound.example:" + port, "localhost", "x.mcp.example")) {
                for (String start : List.of("POST /mcp", "GET /mcp", "GET /sse", "POST /message")) {
                    assertThat(answer(host, port, start, JSON + "Host: " + name + "\r\n", ""))
                            .as(name)
                            .startsWith("HTTP/1.1 403 ")
                            .contains("the Host header names no host of this server");
                }
            }
            String named = JSON + "Host: " + host + ":" + port + "\r\nOrigin: ";
            assertThat(answer(host, port, "POST /mcp", named + "http://" + host + ":" + port + "\r\n", initialize))
                    .startsWith("HTTP/1.1 200 ");
            assertThat(answer(host, port, "POST /mcp", named + "https://app.example\r\n", initialize))
                    .startsWith("HTTP/1.1 200 ");
            for (String origin : List.of("http://localhost:3000", "null", "http://rebound.example:" + port)) {
                assertThat(answer(host, port, "POST /mcp", named + origin + "\r\n", initialize))
                        .as(origin)
                        .startsWith("HTTP/1.1 403 ")
                        .doesNotContain("Access-Control");
            }
        }
    }

    private static String outside() throws IOException {
        return OutsideAddress.find()
                .orElseThrow(() -> new AssertionError("this machine has no other address than loopback"));
    }
}
