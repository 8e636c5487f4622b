package dev.holdfast.gateway.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.gateway.TestGateway;
import dev.holdfast.gateway.Wait;
import dev.holdfast.json.JsonRpc;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What goes wrong before or outside of the MCP endpoint. */
@Tag("jdk")
@Timeout(60)
class WebServerTest {
    private final class Broken extends HttpServlet {
        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) {
            throw new IllegalStateException("a secret");
        }

        @Override
        public void destroy() {
            Wait.until(destroyed);
        }
    }

    /** Counts its beginnings and ends. */
    private static final class Counted extends HttpServlet {
        private final AtomicInteger begun = new AtomicInteger();
        private final AtomicInteger ended = new AtomicInteger();

        @Override
        public void init() {
            begun.incrementAndGet();
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) {
            response.setStatus(204);
        }

        @Override
        public void destroy() {
            ended.incrementAndGet();
        }
    }

    private static final CountDownLatch DONE = new CountDownLatch(0);

    /** Lets the server stop. */
    private volatile CountDownLatch destroyed = DONE;

    private final SessionEngine engine = SessionEngine.builder(
                    (request, sink) -> new CompletableFuture<>(), JsonRpc.MESSAGES)
            .build();
    private final WebServer web = WebServer.listen(
            "127.0.0.1", InetAddress.getLoopbackAddress(), 0, Wait.PATIENCE, Wait.PATIENCE, Optional.empty());

    private final AtomicInteger scrapes = new AtomicInteger();

    private String scrape() {
        scrapes.incrementAndGet();
        return "";
    }

    @BeforeEach
    void start() {
        TestGateway.serve(web, new Broken(), engine, this::scrape);
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

    private String status(String path) throws IOException {
        return answer("GET " + path + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                .lines()
                .findFirst()
                .orElse("");
    }

    @Test
    void anEndpointCanTakeThePlaceOfAnotherAndGo() throws IOException {
        Counted first = new Counted();
        Counted second = new Counted();
        web.serve("a", first, List.of("/a/mcp", "/a/sse"));
        assertThat(List.of(status("/a/mcp"), status("/a/sse/"))).allMatch(line -> line.contains(" 204 "));
        web.serve("a", second, List.of("/a/mcp"));

        assertThat(status("/a/mcp")).contains(" 204 ");
        assertThat(status("/a/sse")).contains(" 404 ");
        assertThat(List.of(first.begun, first.ended, second.begun, second.ended))
                .extracting(AtomicInteger::get)
                .containsExactly(1, 1, 1, 0);
        web.remove("a");
        assertThat(status("/a/mcp")).contains(" 404 ");
        assertThat(status("/mcp")).contains(" 500 ");
        assertThat(second.ended).hasValue(1);
    }

    @Test
    void aServerThatDoesNotStopHoldsNothingElseUp() {
        destroyed = new CountDownLatch(1);
        long start = System.nanoTime();
        web.stop();
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(15));
        destroyed.countDown();
    }

    /** A head that has not arrived whole when the server stops was never looked at. */
    @Test
    void whatHasBegunToArriveWhenTheServerStopsMayComeAgain() throws IOException {
        List<Socket> begun = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            Socket socket = new Socket(InetAddress.getLoopbackAddress(), web.port());
            socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
            socket.getOutputStream().write("POST /mcp HTTP/1.1\r\nHost: a\r\nX: ".getBytes(ISO_8859_1));
            begun.add(socket);
        }
        answer("GET /other HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");

        web.stop();

        List<String> answers = new ArrayList<>();
        for (Socket socket : begun) {
            answers.add(rest(socket));
        }
        assertThat(answers)
                .filteredOn(answer -> !answer.isEmpty())
                .isNotEmpty()
                .allSatisfy(
                        answer -> assertThat(answer).startsWith("HTTP/1.1 503 ").contains("Retry-After: 1\r\n"));
    }

    /** What the server has said before it closed. */
    private static String rest(Socket socket) {
        try (socket) {
            return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
        } catch (IOException e) {
            return ""; // it was closed with something unread
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
        "405, TRACE /healthz HTTP/1.1|Host: a|Connection: close||",
        "404, POST /other HTTP/1.1|Host: a|Content-Length: 2|Connection: close||{}",
        "404, POST /mcp/more HTTP/1.1|Host: a|Content-Length: 2|Connection: close||{}",
        "500, GET /mcp/ HTTP/1.1|Host: a|Connection: close||",
        "404, DELETE /mcp/more HTTP/1.1|Host: a|Connection: close||",
        "404, OPTIONS /other HTTP/1.1|Host: a|Connection: close||",
        "404, OPTIONS * HTTP/1.1|Host: a|Connection: close||",
        "404, TRACE /other HTTP/1.1|Host: a|Connection: close||",
        "404, PUT /healthz/ HTTP/1.1|Host: a|Connection: close||",
        "404, POST / HTTP/1.1|Host: a|Content-Length: 2|Connection: close||{}",
        "414, GET /LONG HTTP/1.1|Host: a||",
        "431, GET /mcp HTTP/1.1|Host: a|X: LONG||",
        "500, GET /mcp HTTP/1.1|Host: a|Connection: close||",
        "505, GET /mcp HTTP/3.7|Host: a||",
        "400, GET /mcp HTTP/1.1|Host: a|Host: b||",
        "400, GET /mcp HTTP/1.1|Host : a||",
        "400, GET /../../etc/passwd HTTP/1.1|Host: a|Connection: close||",
        "400, GET /mcp/%2e%2e/x HTTP/1.1|Host: a|Connection: close||",
        "400, GET /%zz HTTP/1.1|Host: a|Connection: close||",
        "400, GET /%00 HTTP/1.1|Host: a|Connection: close||",
        "400, POST /mcp HTTP/1.1|Host: a|Content-Length: 1|Content-Length: 2||",
        "400, POST /mcp HTTP/1.1|Host: a|Content-Length: 1|Transfer-Encoding: chunked||",
        "400, POST /mcp HTTP/1.1|Host: a|Transfer-Encoding: gzip||",
        "417, POST /mcp HTTP/1.1|Host: a|Expect: nothing|Connection: close||",
        "426, PRI * HTTP/2.0||SM||",
    })
    void theAnswerNamesTheFaultAndNothingOfTheServer(int status, String request) throws IOException {
        String answer = answer(request.replace("|", "\r\n").replace("LONG", "x".repeat(20_000)));

        assertThat(answer).startsWith("HTTP/1.1 " + status + " ");
        assertThat(answer)
                .contains(
                        "Content-Type: application/json;charset=utf-8\r\n",
                        "\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-3");
        assertThat(answer)
                .doesNotContainIgnoringCase("jetty")
                .doesNotContainIgnoringCase("<html")
                .doesNotContain("Exception", "secret", "dev.holdfast", "Broken", "\tat ");
    }

    /** HAProxy asks by OPTIONS, in HTTP/1.0 and without a Host, unless it is told otherwise. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "OPTIONS /healthz HTTP/1.0||",
                "OPTIONS /healthz HTTP/1.1|Host: a|Connection: close||",
                "OPTIONS /stats HTTP/1.1|Host: a|Connection: close||",
                "OPTIONS /metrics HTTP/1.1|Host: a|Connection: close||",
            })
    void optionsSaysWhetherThePageIsWellAndWhatItTakes(String request) throws IOException {
        assertThat(answer(request.replace("|", "\r\n")))
                .startsWith("HTTP/1.1 200 ")
                .contains("Allow: GET, HEAD, OPTIONS\r\n", "Content-Length: 0\r\n")
                .endsWith("\r\n\r\n");
    }

    /** It is answered to who has no token: browsers ask so before they send one. */
    @Test
    void optionsOfAPageThatNeedsATokenCostsNothing() throws IOException {
        assertThat(answer("OPTIONS /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
                .startsWith("HTTP/1.1 200 ");
        assertThat(scrapes).hasValue(0);

        answer("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assertThat(scrapes).hasValue(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/healthz", "/stats", "/metrics"})
    void hermesAgent107439_everyPageSaysItsCharset(String path) throws IOException {
        assertThat(answer("GET " + path + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
                .containsPattern(
                        "\r\nContent-Type: (application/json|text/plain; version=0\\.0\\.4);\\s?charset=utf-8\r\n");
    }

    @Test
    void optionsSendsClientsAwayFromANodeThatDrains() throws IOException {
        Wait.until(engine.drain(Duration.ZERO));

        assertThat(answer("OPTIONS /healthz HTTP/1.0\r\n\r\n")).startsWith("HTTP/1.1 503 ");
    }

    @Test
    void headIsAGetWithoutItsBody() throws IOException {
        assertThat(answer("HEAD /healthz HTTP/1.0\r\n\r\n"))
                .startsWith("HTTP/1.1 200 ")
                .containsPattern("Content-Length: [1-9]")
                .endsWith("\r\n\r\n");
    }
}
