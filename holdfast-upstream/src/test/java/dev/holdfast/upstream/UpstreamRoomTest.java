package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.holdfast.client.wire.AnswerRoom;
import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HeartbeatWatch;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.Means;
import dev.holdfast.client.wire.Redirects;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.client.wire.StreamHandler;
import java.io.IOException;
import java.io.OutputStream;
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
import java.util.function.BooleanSupplier;
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

/** How much of large answers is read at once, over each HTTP client. */
@ParameterizedClass
@MethodSource("clients")
@Timeout(60)
@Execution(ExecutionMode.CONCURRENT)
class UpstreamRoomTest {
    private static final int LARGE = 4 << 20;
    private static final Duration LONG = Duration.ofMinutes(5);
    private static final Duration SILENCE = Duration.ofSeconds(1);

    private final UpstreamHttp http;
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final CountDownLatch finish = new CountDownLatch(1);
    private final CompletableFuture<Void> taken = new CompletableFuture<>();
    private HttpServer server;
    private UpstreamClient client;

    private final StreamHandler events = new StreamHandler() {
        @Override
        public void opened(HttpHeaders headers) {}

        @Override
        public CompletionStage<Void> event(SseEvent event) {
            return taken;
        }

        @Override
        public void retry(long millis) {}
    };

    UpstreamRoomTest(UpstreamHttp http) {
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
        serve("/whole", "application/json", "", "");
        serve("/stream", "text/event-stream", "data: ", "\n\n");
        server.createContext("/small", asked -> {
            asked.sendResponseHeaders(200, 2);
            asked.getResponseBody().write("{}".getBytes(UTF_8));
            asked.close();
        });
        server.start();
        client = http.start(uri("/"), clock);
    }

    @AfterEach
    void stop() {
        finish.countDown();
        client.close();
        server.stop(0);
        threads.shutdownNow();
        clock.shutdownNow();
    }

    private URI uri(String path) {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path);
    }

    /** A large answer, at whose half the server pauses if it is asked to. */
    private void serve(String path, String type, String begins, String ends) {
        server.createContext(path, asked -> {
            asked.getResponseHeaders().set("Content-Type", type);
            asked.sendResponseHeaders(200, 0);
            OutputStream out = asked.getResponseBody();
            out.write(begins.getBytes(UTF_8));
            out.write(new byte[LARGE / 2]);
            out.flush();
            if ("pause".equals(asked.getRequestURI().getQuery())) {
                try {
                    finish.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            out.write(new byte[LARGE / 2]);
            out.write(ends.getBytes(UTF_8));
            asked.close();
        });
    }

    private CompletableFuture<ExchangeEnd> get(String path, AnswerRoom room, Duration silence) {
        Means means = new Means(client.sender(), Runnable::run, client.threads(), clock, () -> 0.5, Redirects.NONE)
                .withRoom(room);
        HttpRequest request = HttpRequest.newBuilder(uri(path)).GET().build();
        return new HttpExchange(means, request, 2 * LARGE, new HeartbeatWatch(silence), events).start();
    }

    private static ExchangeEnd now(CompletableFuture<ExchangeEnd> end) {
        return end.orTimeout(30, TimeUnit.SECONDS).join();
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).isLessThan(deadline);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
        }
    }

    private static void assertWhole(ExchangeEnd end) {
        assertThat(end)
                .isInstanceOfSatisfying(
                        ExchangeEnd.Answer.class,
                        answer -> assertThat(answer.body()).hasSize(LARGE));
    }

    @Test
    void anAnswerForWhichThereIsNoRoomIsReadOnceThereIsAndIsNotSilentMeanwhile() {
        AnswerRoom room = new AnswerRoom(0, LONG);
        CompletableFuture<ExchangeEnd> first = get("/whole?pause", room, Duration.ZERO);
        await(() -> room.taken() > LARGE);
        CompletableFuture<ExchangeEnd> second = get("/whole", room, SILENCE);
        await(() -> room.waiting() == 1);
        assertThat(now(get("/small", room, Duration.ZERO))).isInstanceOf(ExchangeEnd.Answer.class);
        LockSupport.parkNanos(2 * SILENCE.toNanos());
        assertThat(second).isNotDone();

        finish.countDown();

        assertWhole(now(first));
        assertWhole(now(second));
        await(() -> room.taken() == 0);
    }

    @Test
    void anAnswerBeyondTheLimitThatIsNotFinishedIsGivenUpForAnother() {
        AnswerRoom room = new AnswerRoom(0, Duration.ofMillis(500));
        CompletableFuture<ExchangeEnd> first = get("/whole?pause", room, Duration.ZERO);
        await(() -> room.taken() > LARGE);

        CompletableFuture<ExchangeEnd> second = get("/whole", room, Duration.ZERO);

        assertWhole(now(second));
        assertThat(now(first))
                .isInstanceOfSatisfying(
                        ExchangeEnd.NoAnswer.class,
                        none -> assertThat(none.cause()).hasMessageContaining("while others waited"));
        await(() -> room.taken() == 0);
    }

    @Test
    void aLargeEventTakesRoomUntilItIsTaken() {
        AnswerRoom room = new AnswerRoom(0, Duration.ofMillis(100));
        CompletableFuture<ExchangeEnd> first = get("/stream", room, Duration.ZERO);
        await(() -> room.taken() > 2 * LARGE);
        CompletableFuture<ExchangeEnd> second = get("/stream", room, SILENCE);
        await(() -> room.waiting() == 1);
        LockSupport.parkNanos(2 * SILENCE.toNanos());
        assertThat(room.waiting()).isOne();

        taken.complete(null);

        assertThat(now(first)).isEqualTo(new ExchangeEnd.StreamEnded());
        assertThat(now(second)).isEqualTo(new ExchangeEnd.StreamEnded());
        await(() -> room.taken() == 0);
    }

    @Test
    void anAnswerThatIsBrokenOffGivesItsRoomBack() {
        AnswerRoom room = new AnswerRoom(0, LONG);
        CompletableFuture<ExchangeEnd> whole = get("/whole?pause", room, SILENCE);
        await(() -> room.taken() > 0);
        CompletableFuture<ExchangeEnd> stream = get("/stream?pause", room, SILENCE);

        assertThat(now(whole)).isInstanceOf(ExchangeEnd.NoAnswer.class);
        assertThat(now(stream)).isInstanceOf(ExchangeEnd.StreamBroken.class);
        await(() -> room.taken() == 0);
    }
}
