package dev.holdfast.mcp.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.core.scheduler.Schedulers;

/** What reaches the application of the server's answers. */
@Timeout(60)
class ReceivedAnswersTest {
    private static final Duration SOON = Duration.ofSeconds(20);

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private HttpServer server;
    private McpAsyncClient client;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
        server.setExecutor(threads);
        server.createContext("/mcp", ReceivedAnswersTest::serve);
        server.start();
        client = client();
    }

    private McpAsyncClient client() {
        McpAsyncClient opened = McpClient.async(HoldfastClientTransport.builder(
                                "http://127.0.0.1:" + server.getAddress().getPort())
                        .build())
                .requestTimeout(Duration.ofMinutes(5))
                .build();
        opened.initialize().block(SOON);
        return opened;
    }

    @AfterEach
    void stop() {
        client.closeGracefully().block(SOON);
        server.stop(0);
        threads.shutdownNow();
    }

    private static void serve(HttpExchange exchange) throws IOException {
        String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
        if (!body.contains("\"id\"")) {
            exchange.sendResponseHeaders(exchange.getRequestMethod().equals("POST") ? 202 : 405, -1);
            exchange.close();
            return;
        }
        String result = "{}";
        if (body.contains("\"initialize\"")) {
            result = "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"logging\":{}},"
                    + "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}";
        } else if (body.contains("\"logging/setLevel\"")) {
            result = "null";
        }
        String id = body.replaceAll(".*\"id\":(\"[^\"]*\"|\\d+).*", "$1");
        byte[] answer = ("{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":" + result + "}").getBytes(UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(200, answer.length);
        exchange.getResponseBody().write(answer);
        exchange.close();
    }

    @Test
    void answerThatTheSdkCannotReadEndsItsRequest() {
        assertThatThrownBy(() -> client.setLoggingLevel(LoggingLevel.INFO).block(SOON))
                .isInstanceOf(McpError.class)
                .hasMessageContaining("cannot be read");
    }

    @Test
    void eachApplicationIsAnsweredUnderItsOwnContextClassLoader() throws IOException {
        for (int application = 0; application < 3; application++) {
            try (URLClassLoader loader =
                    new URLClassLoader(new URL[0], getClass().getClassLoader())) {
                ClassLoader before = Thread.currentThread().getContextClassLoader();
                Thread.currentThread().setContextClassLoader(loader);
                try {
                    McpAsyncClient own = client();
                    assertThat(own.ping()
                                    .map(answer -> Thread.currentThread().getContextClassLoader())
                                    .block(SOON))
                            .isSameAs(loader);
                    own.closeGracefully().block(SOON);
                } finally {
                    Thread.currentThread().setContextClassLoader(before);
                }
            }
        }
    }

    @Test
    void answersComeThoughTheThreadsOfReactorAllWait() throws InterruptedException {
        CountDownLatch answered = new CountDownLatch(1);
        CountDownLatch waiting = new CountDownLatch(Schedulers.DEFAULT_BOUNDED_ELASTIC_SIZE);
        for (int i = 0; i < Schedulers.DEFAULT_BOUNDED_ELASTIC_SIZE; i++) {
            Schedulers.boundedElastic().schedule(() -> {
                waiting.countDown();
                try {
                    answered.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
        }
        waiting.await();

        try {
            assertThat(client.ping().block(SOON)).isNotNull();
        } finally {
            answered.countDown();
        }
    }
}
