package dev.holdfast.mcp.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Redirect;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A server that redirects a client whose application has set a policy for that. */
@Tag("jdk")
@Timeout(60)
class RedirectTest {
    private static final String SECRET = "Bearer secret";

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HttpServer home = server();
    private final HttpServer foreign = server();
    private final List<String> strangers = new CopyOnWriteArrayList<>();
    /** What came to the endpoint behind the redirect. */
    private final List<String> came = new CopyOnWriteArrayList<>();

    private final CountDownLatch resumed = new CountDownLatch(1);

    private HttpServer server() {
        try {
            HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
            server.setExecutor(threads);
            server.start();
            return server;
        } catch (IOException e) {
            throw new AssertionError("no server", e);
        }
    }

    @AfterEach
    void stop() {
        home.stop(0);
        foreign.stop(0);
        threads.shutdownNow();
    }

    private static String url(HttpServer server) {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** Redirects what comes to the endpoint. */
    private void redirect(int status, String location) {
        home.createContext("/mcp", exchange -> {
            exchange.getRequestBody().readAllBytes();
            exchange.getResponseHeaders().set("Location", location);
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        });
        home.createContext("/real", this::serve);
        foreign.createContext("/", exchange -> {
            strangers.add(exchange.getRequestMethod());
            serve(exchange);
        });
    }

    private void serve(HttpExchange exchange) throws IOException {
        String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
        boolean get = exchange.getRequestMethod().equals("GET");
        came.add(exchange.getRequestMethod() + " " + header(exchange, "Authorization") + " "
                + header(exchange, "Mcp-Session-Id") + " " + header(exchange, "Last-Event-ID"));
        if (get && header(exchange, "Last-Event-ID").isEmpty()) {
            respond(
                    exchange,
                    200,
                    "text/event-stream",
                    "retry: 10\nid: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/a\"}\n\n");
        } else if (get) {
            resumed.countDown();
            respond(exchange, 405, "text/plain", "no more");
        } else if (body.contains("\"initialize\"")) {
            exchange.getResponseHeaders().set("Mcp-Session-Id", "s1");
            String id = body.replaceAll(".*\"id\":(\"[^\"]*\"|\\d+).*", "$1");
            respond(
                    exchange,
                    200,
                    "application/json",
                    "{\"jsonrpc\":\"2.0\",\"id\":" + id
                            + ",\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}");
        } else {
            respond(exchange, 202, "text/plain", "");
        }
    }

    private static String header(HttpExchange exchange, String name) {
        return Optional.ofNullable(exchange.getRequestHeaders().getFirst(name)).orElse("");
    }

    private static void respond(HttpExchange exchange, int status, String type, String body) throws IOException {
        byte[] bytes = body.getBytes(UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private McpSyncClient client(Redirect policy) {
        HoldfastClientTransport transport = HoldfastClientTransport.builder(url(home))
                .clientBuilder(HttpClient.newBuilder()
                        .version(HttpClient.Version.HTTP_1_1)
                        .followRedirects(policy))
                .httpRequestCustomizer((request, method, uri, body, context) -> request.header("Authorization", SECRET))
                .build();
        return McpClient.sync(transport)
                .initializationTimeout(Duration.ofSeconds(20))
                .build();
    }

    @ParameterizedTest
    @ValueSource(ints = {301, 302, 303, 307, 308})
    void noneToAnotherServerIsFollowedWhateverThePolicy(int status) {
        redirect(status, url(foreign) + "/real");
        try (McpSyncClient client = client(Redirect.ALWAYS)) {
            assertThatThrownBy(client::initialize)
                    .hasStackTraceContaining("status " + status)
                    .hasStackTraceContaining("a redirect to " + url(foreign) + "/real that is not followed");
        }
        assertThat(strangers).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"307,NORMAL", "308,ALWAYS"})
    void oneWithinTheServerIsFollowedAndItsStreamIsResumed(int status, Redirect policy) throws Exception {
        redirect(status, "/real");
        try (McpSyncClient client = client(policy)) {
            client.initialize();
            assertThat(resumed.await(20, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(came)
                .startsWith("POST " + SECRET + "  ")
                .contains("POST " + SECRET + " s1 ", "GET " + SECRET + " s1 ", "GET " + SECRET + " s1 e1");
        assertThat(strangers).isEmpty();
    }

    @Test
    void noneIsFollowedByDefault() {
        redirect(307, "/real");
        try (McpSyncClient client = client(Redirect.NEVER)) {
            assertThatThrownBy(client::initialize).hasStackTraceContaining("status 307");
        }
        assertThat(came).isEmpty();
    }

    @Test
    void redirectsWithoutAnEndEnd() {
        redirect(308, "/mcp");
        try (McpSyncClient client = client(Redirect.ALWAYS)) {
            assertThatThrownBy(client::initialize).hasStackTraceContaining("status 308");
        }
    }

    @Test
    void theApplicationsBuilderStaysAsItWas() {
        HttpClient.Builder builder = HttpClient.newBuilder().followRedirects(Redirect.ALWAYS);

        HoldfastClientTransport.builder("http://localhost")
                .clientBuilder(builder)
                .build();

        assertThat(builder.build().followRedirects()).isEqualTo(Redirect.ALWAYS);
    }
}
