package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HeartbeatWatch;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.Means;
import dev.holdfast.client.wire.OversizedEventException;
import dev.holdfast.client.wire.Redirects;
import dev.holdfast.client.wire.SilenceException;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.client.wire.StreamHandler;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** What an exchange says that this side breaks off, over each HTTP client: why it did so, and not what came of that. */
@ParameterizedClass
@MethodSource("clients")
@Timeout(30)
@Execution(ExecutionMode.CONCURRENT)
class UpstreamExchangeTest {
    private static final int MOST_BYTES = 100;

    private final UpstreamHttp http;
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final CountDownLatch over = new CountDownLatch(1);
    private final CompletableFuture<Void> asked = new CompletableFuture<>();
    private final CompletableFuture<Void> taken = new CompletableFuture<>();
    private HttpServer server;
    private UpstreamClient client;

    private final StreamHandler events = new StreamHandler() {
        @Override
        public void opened(HttpHeaders headers) {}

        @Override
        public CompletionStage<Void> event(SseEvent event) {
            asked.complete(null);
            return taken;
        }

        @Override
        public void retry(long millis) {}
    };

    UpstreamExchangeTest(UpstreamHttp http) {
        this.http = http;
    }

    static Stream<Named<UpstreamHttp>> clients() {
        return Stream.of(
                Named.of("JDK", UpstreamHttp.jdk()),
                Named.of("the application's", UpstreamHttp.jdk(HttpClient.newHttpClient())),
                Named.of("Jetty", UpstreamHttp.jetty()));
    }

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.start();
        client = http.start(uri(), clock);
    }

    @AfterEach
    void stop() {
        over.countDown();
        client.close();
        server.stop(0);
        threads.shutdownNow();
        clock.shutdownNow();
    }

    private URI uri() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
    }

    /** An answer that begins so, and then is silent. */
    private void serve(String type, String beginning) {
        server.createContext("/", answered -> {
            answered.getResponseHeaders().set("Content-Type", type);
            answered.sendResponseHeaders(200, 0);
            answered.getResponseBody().write(beginning.getBytes(UTF_8));
            answered.getResponseBody().flush();
            try {
                over.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            answered.close();
        });
    }

    private CompletableFuture<ExchangeEnd> get(Duration silence) {
        Means means = new Means(client.sender(), Runnable::run, client.threads(), clock, () -> 0.5, Redirects.NONE);
        HttpRequest request = HttpRequest.newBuilder(uri()).GET().build();
        return new HttpExchange(means, request, MOST_BYTES, new HeartbeatWatch(silence), events)
                .start()
                .orTimeout(20, TimeUnit.SECONDS);
    }

    private static Throwable broken(ExchangeEnd end) {
        assertThat(end).isInstanceOf(ExchangeEnd.StreamBroken.class);
        return ((ExchangeEnd.StreamBroken) end).cause();
    }

    private static Throwable unanswered(ExchangeEnd end) {
        assertThat(end).isInstanceOf(ExchangeEnd.NoAnswer.class);
        return ((ExchangeEnd.NoAnswer) end).cause();
    }

    @Test
    void aStreamThatIsBrokenForItsSilenceSaysSo() {
        serve("text/event-stream", ": there\n\n");

        assertThat(broken(get(Duration.ofSeconds(2)).join())).isInstanceOf(SilenceException.class);
    }

    @Test
    void aStreamThatIsBrokenForAnOversizedEventSaysSoOnceThoseBeforeItAreTaken() {
        serve("text/event-stream", "data: one\n\ndata: " + "x".repeat(2 * MOST_BYTES) + "\n\n");
        CompletableFuture<ExchangeEnd> end = get(Duration.ZERO);
        asked.orTimeout(20, TimeUnit.SECONDS).join();
        // long enough for all that comes of breaking it off
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(300));
        assertThat(end).isNotDone();

        taken.complete(null);

        assertThat(broken(end.join())).isInstanceOf(OversizedEventException.class);
    }

    @Test
    void anAnswerThatIsTooLongSaysSo() {
        serve("application/json", "x".repeat(2 * MOST_BYTES));

        assertThat(unanswered(get(Duration.ZERO).join())).isInstanceOf(OversizedEventException.class);
    }

    @Test
    void anAnswerThatIsBrokenForItsSilenceSaysSo() {
        serve("application/json", "{");

        assertThat(unanswered(get(Duration.ofSeconds(2)).join())).isInstanceOf(SilenceException.class);
    }
}
