package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.SessionEngine;
import dev.holdfast.servlet.JsonRpc;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What goes wrong before or outside of the MCP endpoint. */
@Timeout(60)
class WebServerTest {
    private static final class Broken extends HttpServlet {
        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) {
            throw new IllegalStateException("a secret");
        }
    }

    private final SessionEngine engine = SessionEngine.builder(
                    (request, sink) -> new CompletableFuture<>(), JsonRpc.MESSAGES)
            .build();
    private final WebServer web = WebServer.listen("127.0.0.1", InetAddress.getLoopbackAddress(), 0);

    @BeforeEach
    void start() {
        web.start(new McpService(new Broken(), engine, () -> {}), List.of("/mcp"));
    }

    @AfterEach
    void stop() {
        web.stop();
        engine.close();
    }

    private String answer(String request) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), web.port())) {
            socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
            socket.getOutputStream().write(request.getBytes(ISO_8859_1));
            return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "400, GET /mcp HTTP/1.1|Host: a b||",
        "400, GET /mcp HTTP/1.1||",
        "400, GET /mcp HTTP/1.1|Host: a|Content-Length: x||",
        "400, nonsense|||",
        "404, GET /other HTTP/1.1|Host: a|Connection: close||",
        "405, DELETE /healthz HTTP/1.1|Host: a|Connection: close||",
        "414, GET /LONG HTTP/1.1|Host: a||",
        "431, GET /mcp HTTP/1.1|Host: a|X: LONG||",
        "500, GET /mcp HTTP/1.1|Host: a|Connection: close||",
        "505, GET /mcp HTTP/3.7|Host: a||",
    })
    void theAnswerNamesTheFaultAndNothingOfTheServer(int status, String request) throws IOException {
        String answer = answer(request.replace("|", "\r\n").replace("LONG", "x".repeat(20_000)));

        assertThat(answer).startsWith("HTTP/1.1 " + status + " ");
        assertThat(answer)
                .doesNotContainIgnoringCase("jetty")
                .doesNotContain("Exception", "secret", "dev.holdfast", "Broken", "\tat ");
    }
}
