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
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** What the log has of an upstream that is away. */
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
    /** What the server answers; below zero it breaks the connection. */
    private final AtomicInteger status = new AtomicInteger(200);

    private HttpServer server;
    private URI url;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", asked -> {
            if (status.get() > 0) {
                asked.sendResponseHeaders(status.get(), -1);
            }
            asked.close();
        });
        server.start();
        url = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/mcp?key=secret");
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
        return new WatchedSender(HttpSender.by(HttpClient.newHttpClient()), url, patience);
    }

    private static CompletableFuture<?> send(HttpSender sender, HttpRequest.Builder request) {
        return sender.send(request.build(), BodyHandlers.discarding());
    }

    /** Returns when it has ended, in whatever way. */
    private void post(HttpSender sender, int answer) throws Exception {
        status.set(answer);
        HttpRequest.Builder request = HttpRequest.newBuilder(url).POST(HttpRequest.BodyPublishers.ofString("{}"));
        send(sender, request).handle((taken, failure) -> taken).get(20, TimeUnit.SECONDS);
    }

    private String shown() {
        return "http://127.0.0.1:" + url.getPort() + "/mcp";
    }

    @Test
    void aServerThatBreaksEachRequestIsToldOnceAndItsReturnToo() throws Exception {
        HttpSender sender = sender(Duration.ZERO);
        post(sender, -1);
        assertThat(lines).isEmpty();
        post(sender, -1);
        post(sender, -1);
        assertThat(lines)
                .singleElement()
                .asString()
                .startsWith("WARN the upstream " + shown() + " does not answer: java");

        post(sender, 404);
        assertThat(lines)
                .hasSize(2)
                .last()
                .asString()
                .isEqualTo("INFO the upstream " + shown() + " answers again, after 0 s");
    }

    @Test
    void aServerThatRefusesConnectionsIsTold() throws Exception {
        HttpSender sender = sender(Duration.ZERO);
        server.stop(0);
        for (int i = 0; i < 2; i++) {
            send(sender, HttpRequest.newBuilder(url))
                    .handle((taken, failure) -> taken)
                    .get(20, TimeUnit.SECONDS);
        }
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
    void whatFailsForAMomentIsNotTold() throws Exception {
        HttpSender patient = sender(Duration.ofHours(1));
        post(patient, -1);
        post(patient, -1);
        HttpSender sender = sender(Duration.ZERO);
        post(sender, -1);
        post(sender, 200);
        post(sender, -1);
        post(sender, 400);
        assertThat(lines).isEmpty();
    }

    @Test
    void aStreamThatBreaksBeforeItsHeadOrIsGivenUpIsNotTold() throws Exception {
        HttpSender sender = sender(Duration.ZERO);
        status.set(-1);
        for (int i = 0; i < 3; i++) {
            send(sender, HttpRequest.newBuilder(url))
                    .handle((taken, failure) -> taken)
                    .get(20, TimeUnit.SECONDS);
        }
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
        List<CompletableFuture<?>> sent = new CopyOnWriteArrayList<>();
        for (int i = 0; i < 2; i++) {
            sent.add(send(
                    sender, HttpRequest.newBuilder(url.resolve("/slow")).POST(HttpRequest.BodyPublishers.noBody())));
        }
        asked.await();
        sent.forEach(each -> each.cancel(true));
        release.countDown();
        assertThat(lines).isEmpty();
    }
}
