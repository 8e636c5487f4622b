package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a faulty or hostile client sends ends in a plain answer, and harms neither the session nor its process. */
@Timeout(60)
class BadInputTest {
    private static final String HEAD =
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    private static final String PING = "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}";

    @SuppressWarnings("NullAway.Init")
    private static TestGateway gateway;

    private final HttpPeer peer = HttpPeer.connected(gateway.url());
    private final ProcessHandle server = TestGateway.server(peer, 1);

    @BeforeAll
    static void start() {
        gateway = new TestGateway();
    }

    @AfterAll
    static void stop() {
        gateway.close();
    }

    /** Sends a POST byte by byte as it is, and returns all that comes back. */
    private String post(String headers, String body) throws IOException {
        try (Socket socket =
                new Socket(InetAddress.getLoopbackAddress(), gateway.url().getPort())) {
            socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
            String request = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n" + body;
            socket.getOutputStream().write(request.getBytes(ISO_8859_1));
            socket.shutdownOutput();
            return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
        }
    }

    private String postToSession(String headers, String body) throws IOException {
        return post(HEAD + "Mcp-Session-Id: " + peer.session() + "\r\n" + headers, body);
    }

    private void assertRefused(String answer, int status, String fault) {
        assertThat(answer)
                .startsWith("HTTP/1.1 " + status + " ")
                .contains("\"error\":{\"code\":-3")
                .contains(fault);
        assertThat(answer).doesNotContain("Exception", "dev.holdfast", "\tat ");
        assertThat(TestGateway.server(peer, 2)).isEqualTo(server);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"jsonrpc\":\"2.0\",\"id\":1,          | ends in the middle",
                "hello                                   | not JSON",
                "{\"jsonrpc\":\"2.0\"}                   | method",
                "{\"jsonrpc\":\"2.0\",\"id\":1}           | a message must have method, result or error",
                "[]                                      | at least one message",
                "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}             | id",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}                  | method",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":7} | params",
                "\u00ff\u00fe                            | UTF-8",
            })
    void aBodyThatIsNoMessageIsNamed(String body, String fault) throws IOException {
        assertRefused(postToSession("Content-Length: " + body.length() + "\r\n", body), 400, fault);
    }

    @Test
    void aBodyThatIsNestedTooDeepIsNamed() throws IOException {
        String body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":" + "[".repeat(500)
                + "]".repeat(500) + "}}";

        assertRefused(postToSession("Content-Length: " + body.length() + "\r\n", body), 400, "nested deeper than");
    }

    @Test
    void aBodyThatIsTooLargeIsNamed() throws IOException {
        assertRefused(postToSession("Content-Length: 99999999\r\n", ""), 413, "");
    }

    @ParameterizedTest
    @ValueSource(strings = {"Content-Length: 500\r\n", "Transfer-Encoding: chunked\r\n"})
    void aBodyThatIsCutOffHarmsNobody(String framing) throws IOException {
        String answer = postToSession(framing, framing.startsWith("T") ? "1f4\r\n" + PING : PING);

        assertThat(answer).doesNotContain("\"result\"").doesNotContain("Exception");
        assertThat(TestGateway.server(peer, 2)).isEqualTo(server);
    }

    @Test
    void aRevisionThatIsUnknownIsNamed() throws IOException {
        String headers = "MCP-Protocol-Version: 1999-01-01\r\nContent-Length: " + PING.length() + "\r\n";

        assertRefused(postToSession(headers, PING), 400, "MCP-Protocol-Version");
    }

    @Test
    void aSessionThatIsMissingOrForgedIsNamed() throws IOException {
        String length = "Content-Length: " + PING.length() + "\r\n";

        assertRefused(post(HEAD + length, PING), 400, "Mcp-Session-Id");
        assertRefused(post(HEAD + length + "Mcp-Session-Id: forged\r\n", PING), 404, "session");
    }

    @Test
    void aForeignOriginIsRefused() throws IOException {
        String length = "Content-Length: " + PING.length() + "\r\n";

        assertRefused(postToSession(length + "Origin: http://evil.example\r\n", PING), 403, "Origin");
    }
}
