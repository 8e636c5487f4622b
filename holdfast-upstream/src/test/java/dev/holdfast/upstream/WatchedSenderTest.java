package dev.holdfast.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.sun.net.httpserver.HttpServer;
import dev.holdfast.client.wire.HttpSender;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** What the log has of an upstream that is away. */
@Tag("jdk")
@Timeout(30)
class WatchedSenderTest {
    private final Logger logger = (Logger) LoggerFactory.getLogger(WatchedSender.class);
    private final Level level = logger.getLevel();
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final ListAppender<ILoggingEvent> log = new ListAppender<>() {
        @Override
        protected void append(ILoggingEvent line) {
            lines.add(line.getLevel() + " " + line.getFormattedMessage());
        }
    };
    private static final int BREAK = -1;

    private final Semaphore ends = new Semaphore(0);
    /** What the server answers. */
    private final AtomicInteger status = new AtomicInteger(200);

    private volatile boolean full;

    private HttpServer server;
    private URI url;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", asked -> {
            if (full) {
                asked.getResponseHeaders().add("Retry-After", "1");
            }
            if (status.get() != BREAK) {
                asked.sendResponseHeaders(status.get(), -1);
            }
            asked.close();
        });
        server.start();
        url = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/s/secret/mcp?key=secret");
        log.start();
        logger.setLevel(Level.INFO);
        logger.addAppender(log);
    }

    @AfterEach
    void stop() {
        logger.detachAppender(log);
        logger.setLevel(level);
        server.stop(0);
    }

    private HttpSender sender(Duration patience) {
        return new WatchedSender(this::sent, url, patience);
    }

    /** By the JDK's client. There is a permit once everybody knows of an end. */
    private <T> CompletableFuture<?> sent(HttpRequest request, BodyHandler<T> answer) {
        CompletableFuture<Object> end = new CompletableFuture<>();
        HttpSender.by(HttpClient.newHttpClient()).send(request, answer).whenComplete((taken, failure) -> {
            if (failure == null) {
                end.complete(taken);
            } else {
                end.completeExceptionally(failure);
            }
            ends.release();
        });
        return end;
    }

    private void ask(HttpSender sender, HttpRequest.Builder request, int answer) throws InterruptedException {
        status.set(answer);
        sender.send(request.build(), BodyHandlers.discarding());
        assertThat(ends.tryAcquire(20, TimeUnit.SECONDS)).isTrue();
    }

    private void post(HttpSender sender, int answer) throws InterruptedException {
        ask(sender, HttpRequest.newBuilder(url).POST(HttpRequest.BodyPublishers.ofString("{}")), answer);
    }

    private void get(HttpSender sender, int answer) throws InterruptedException {
        ask(sender, HttpRequest.newBuilder(url), answer);
    }

    private String shown() {
        return "http://127.0.0.1:" + url.getPort();
    }

    @Test
    void aServerThatBreaksEachRequestIsToldOnceAndItsReturnToo() throws Exception {
        HttpSender sender = sender(Duration.ZERO);
        post(sender, BREAK);
        assertThat(lines).isEmpty();
        post(sender, BREAK);
        post(sender, BREAK);
        assertThat(lines)
                .singleElement()
                .asString()
                .startsWith("WARN the upstream " + shown() + " does not answer: java");

        post(sender, 404);
        assertThat(lines)
                .hasSize(2)
                .last()
                .asString()
                .matches("INFO the upstream " + shown() + " answers again, after \\d+ s");
    }

    @Test
    void aServerThatRefusesConnectionsIsToldOfStreamsToo() throws Exception {
        HttpSender sender = sender(Duration.ZERO);
        server.stop(0);
        get(sender, BREAK);
        get(sender, BREAK);
        assertThat(lines).singleElement().asString().contains("ConnectException");
    }

    @Test
    void aProxyThatReachesNobodyIsToldByItsStatus() throws Exception {
        HttpSender sender = sender(Duration.ZERO);
        post(sender, 503);
        post(sender, 502);
        assertThat(lines).containsExactly("WARN the upstream " + shown() + " does not answer: status 502");
    }

    @Test
    void aServerThatIsFullIsThere() throws Exception {
        HttpSender sender = sender(Duration.ZERO);
        full = true;
        post(sender, 503);
        post(sender, 503);
        assertThat(lines).isEmpty();
    }

    @Test
    void whatFailsForAMomentIsNotTold() throws Exception {
        HttpSender patient = sender(Duration.ofHours(1));
        post(patient, BREAK);
        post(patient, BREAK);
        HttpSender sender = sender(Duration.ZERO);
        post(sender, BREAK);
        post(sender, 200);
        post(sender, BREAK);
        post(sender, 400);
        assertThat(lines).isEmpty();
    }

    @Test
    void aStreamWithoutAHeadIsNotTold() throws Exception {
        HttpSender sender = sender(Duration.ZERO);
        get(sender, BREAK);
        get(sender, BREAK);
        get(sender, 504);
        get(sender, 504);
        assertThat(lines).isEmpty();
    }

    @Test
    void whatIsGivenUpIsNotTold() throws Exception {
        HttpSender sender = sender(Duration.ZERO);
        CountDownLatch asked = new CountDownLatch(2);
        CountDownLatch release = new CountDownLatch(1);
        server.createContext("/slow", request -> {
            asked.countDown();
            try {
                release.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            request.close();
        });
        HttpRequest request = HttpRequest.newBuilder(url.resolve("/slow"))
                .POST(HttpRequest.BodyPublishers.noBody())
                .build();
        List<CompletableFuture<?>> sent = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            sent.add(sender.send(request, BodyHandlers.discarding()));
        }
        asked.await();
        sent.forEach(each -> each.cancel(true));
        release.countDown();
        assertThat(lines).isEmpty();
    }
}
