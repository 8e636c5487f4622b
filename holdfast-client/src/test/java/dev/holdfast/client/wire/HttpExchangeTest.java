package dev.holdfast.client.wire;

import static dev.holdfast.client.Eventually.now;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.holdfast.ByteBudget;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("jdk")
@Timeout(30)
class HttpExchangeTest {
    private static final StreamHandler EVENTS = event -> CompletableFuture.completedFuture(null);

    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final LateClient http = new LateClient(HttpClient.newHttpClient());
    private HttpServer server;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", answered -> {
            answered.getRequestBody().readAllBytes();
            answered.getResponseHeaders().set("Content-Type", "text/event-stream");
            answered.sendResponseHeaders(200, 0);
            answered.getResponseBody().write("data: one\n\n".getBytes(UTF_8));
            answered.close();
        });
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
        clock.shutdownNow();
    }

    private HttpExchange post() {
        URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
        HttpRequest request =
                HttpRequest.newBuilder(uri).POST(BodyPublishers.ofString("{}")).build();
        HttpResources resources = new HttpResources(
                HttpSender.by(http),
                Runnable::run,
                Runnable::run,
                clock,
                HttpResources.Redirects.NONE,
                ByteBudget.withoutLimit());
        return new HttpExchange(resources, request, 1_000, new HeartbeatWatch(Duration.ZERO), EVENTS);
    }

    /** Its connection may carry another exchange by then, which would break. */
    @Test
    void theConnectionOfAnAnswerIsLeftAloneThatWasReadBeforeTheSenderWentOn() {
        HttpExchange exchange = post();
        http.lateUntil(exchange.end());

        assertThat(now(exchange.start())).isInstanceOf(ExchangeEnd.StreamEnded.class);

        assertThat(http.cancelled()).isFalse();
    }

    @Test
    void anExchangeThatIsBrokenOffWhileItsRequestIsHandedOverIsCancelled() {
        HttpExchange exchange = post();
        CompletableFuture<Void> handed = new CompletableFuture<>();
        http.lateUntil(handed);
        http.whenAsked(() -> {
            exchange.abort("not wanted any more");
            handed.complete(null);
        });

        assertThat(now(exchange.start())).isInstanceOf(ExchangeEnd.NoAnswer.class);

        assertThat(http.cancelled()).isTrue();
    }
}
