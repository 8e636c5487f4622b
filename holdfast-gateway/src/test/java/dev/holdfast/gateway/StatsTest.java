package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.TypeRef;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a running gateway tells of itself, and to whom. */
@Timeout(60)
class StatsTest {
    private static final String TOKEN = "alice-0123456789abcdef";
    private static final TypeRef<Map<String, Object>> OBJECT = new TypeRef<>() {};

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private TestGateway tokens() throws IOException {
        Path file = folder.resolve("tokens");
        Files.writeString(file, "alice " + TOKEN + "\n");
        return new TestGateway("--auth-token-file", file.toString(), "--allowed-origin", "https://app.example");
    }

    /** Asks for the stats in a way of its own, and returns all that comes back. */
    private static String answer(TestGateway gateway, String method, String... headers) throws IOException {
        try (Socket socket =
                new Socket(InetAddress.getByName("127.0.0.1"), gateway.url().getPort())) {
            socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
            String head =
                    method + " /stats HTTP/1.1\r\nConnection: close\r\n" + String.join("\r\n", headers) + "\r\n\r\n";
            socket.getOutputStream().write(head.getBytes(ISO_8859_1));
            return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
        }
    }

    private static Map<String, Object> stats(String answer) throws IOException {
        assertThat(answer)
                .startsWith("HTTP/1.1 200 ")
                .contains("Content-Type: application/json;charset=utf-8\r\n", "Cache-Control: no-store\r\n");
        return McpJsonDefaults.getMapper().readValue(answer.substring(answer.indexOf("\r\n\r\n") + 4), OBJECT);
    }

    private static Object count(Map<String, Object> stats, String group, Enum<?> reason) {
        Map<?, ?> counts = (Map<?, ?>) stats.getOrDefault(group, Map.of());
        return counts.containsKey(reason.name()) ? counts.get(reason.name()) : "none";
    }

    @Test
    void itTellsWhatTheEngineHoldsAndCountsButNoSessionId() throws IOException {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer ended = HttpPeer.connected(gateway.url());
            ended.delete();
            ended.post("{'jsonrpc':'2.0','id':2,'method':'ping'}");
            HttpPeer open = HttpPeer.connected(gateway.url());
            open.call(1, "ping");

            String answer = answer(gateway, "GET", "Host: localhost");

            Map<String, Object> stats = stats(answer);
            assertThat(stats)
                    .containsEntry("sessions", 1)
                    .containsEntry("created", 2)
                    .containsEntry("runningCalls", 0)
                    .containsKeys("historyBytes", "historyEvents", "gaps", "dropped", "timedOut");
            assertThat(count(stats, "ended", EndReason.TERMINATED)).isEqualTo(1);
            assertThat(count(stats, "ended", EndReason.EXPIRED)).isEqualTo(0);
            assertThat(count(stats, "refused", Refusal.UNKNOWN_SESSION)).isEqualTo(1);
            for (HttpPeer peer : List.of(ended, open)) {
                assertThat(answer).doesNotContain(peer.session().substring(0, 8));
            }
        }
    }

    @Test
    void whereTokensAreNeededItNeedsOne() throws IOException {
        try (TestGateway gateway = tokens()) {
            for (String method : List.of("GET", "HEAD", "POST", "DELETE")) {
                assertThat(answer(gateway, method, "Host: localhost"))
                        .as(method)
                        .startsWith("HTTP/1.1 401 ")
                        .contains("WWW-Authenticate: Bearer\r\n")
                        .doesNotContain("sessions");
            }
            assertThat(answer(gateway, "GET", "Host: localhost", "Authorization: Bearer wrong-0123456789abcdef"))
                    .startsWith("HTTP/1.1 401 ")
                    .contains("invalid_token")
                    .doesNotContain("sessions");

            Map<String, Object> stats =
                    stats(answer(gateway, "GET", "Host: localhost", "Authorization: Bearer " + TOKEN));

            assertThat(count(stats, "refused", Refusal.UNAUTHENTICATED)).isEqualTo(5);
        }
    }

    @Test
    void foreignNamesAndPagesAreRefused() throws IOException {
        try (TestGateway gateway = tokens()) {
            String token = "Authorization: Bearer " + TOKEN;
            for (String[] headers : Arrays.asList(
                    new String[] {"Host: rebound.example", token},
                    new String[] {"Host: localhost", "Origin: http://evil.example", token})) {
                assertThat(answer(gateway, "GET", headers))
                        .startsWith("HTTP/1.1 403 ")
                        .doesNotContain("sessions\"", "Access-Control");
            }
            assertThat(answer(gateway, "GET", "Host: localhost", "Origin: https://app.example", token))
                    .startsWith("HTTP/1.1 200 ")
                    .contains("Access-Control-Allow-Origin: https://app.example\r\n");
        }
    }

    @Test
    void onlyGetHeadAndOptionsAreServed() throws IOException {
        try (TestGateway gateway = new TestGateway()) {
            for (String method : List.of("POST", "PUT", "DELETE", "TRACE")) {
                assertThat(answer(gateway, method, "Host: localhost"))
                        .as(method)
                        .startsWith("HTTP/1.1 405 ")
                        .contains("Allow: GET, HEAD, OPTIONS\r\n")
                        .doesNotContain("sessions");
            }
            assertThat(answer(gateway, "OPTIONS", "Host: localhost"))
                    .startsWith("HTTP/1.1 200 ")
                    .contains("Allow: GET, HEAD, OPTIONS\r\n")
                    .doesNotContain("sessions");
            assertThat(answer(gateway, "HEAD", "Host: localhost"))
                    .startsWith("HTTP/1.1 200 ")
                    .endsWith("\r\n\r\n");
        }
    }
}
