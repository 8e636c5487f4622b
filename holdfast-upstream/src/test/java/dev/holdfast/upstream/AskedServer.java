package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import dev.holdfast.ByteBudget;
import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HeartbeatWatch;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.HttpResources;
import dev.holdfast.client.wire.HttpResources.Redirects;
import dev.holdfast.client.wire.StreamHandler;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;

/** An HTTP server that answers as it is told, and a client that asks it. */
final class AskedServer implements AutoCloseable {
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final CountDownLatch released = new CountDownLatch(1);
    private final CompletableFuture<Void> asked = new CompletableFuture<>();
    private final CompletableFuture<Void> taken = new CompletableFuture<>();
    private final HttpServer server;
    private final UpstreamHttp.Client client;

    private final StreamHandler events = event -> {
        asked.complete(null);
        return taken;
    };

    AskedServer(UpstreamHttp http) throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.start();
        client = http.start(uri("/"), clock);
        // the first exchange of a client takes its time, and others are to begin before they count as silent
        serve("/small", first -> {
            first.sendResponseHeaders(200, 2);
            first.getResponseBody().write("{}".getBytes(UTF_8));
            first.close();
        });
        get("/small", 100, Duration.ZERO, means -> means).join();
    }

    /** Each HTTP client that there is. */
    static Stream<Named<UpstreamHttp>> clients() {
        return Stream.of(
                Named.of("JDK", UpstreamHttp.jdk()),
                Named.of("the application's", UpstreamHttp.jdk(HttpClient.newHttpClient())),
                Named.of("Jetty", UpstreamHttp.jetty()));
    }

    void serve(String path, HttpHandler handler) {
        server.createContext(path, handler);
    }

    /** Waits, on a thread of the server, until answers may go on. */
    void awaitRelease() {
        try {
            released.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Lets answers that wait go on. */
    void release() {
        released.countDown();
    }

    /** Once the first event has come. */
    CompletableFuture<Void> asked() {
        return asked;
    }

    /** Takes the events that have come, and those to come. */
    void take() {
        taken.complete(null);
    }

    /**
     * Asks.
     *
     * @param mostBytes of one message
     * @param silence after which the answer is broken off; zero: never
     */
    CompletableFuture<ExchangeEnd> get(
            String path, int mostBytes, Duration silence, UnaryOperator<HttpResources> with) {
        HttpResources resources = new HttpResources(
                client, Runnable::run, client.threads(), clock, Redirects.NONE, ByteBudget.withoutLimit());
        HttpRequest request = HttpRequest.newBuilder(uri(path)).GET().build();
        return new HttpExchange(with.apply(resources), request, mostBytes, new HeartbeatWatch(silence), events)
                .start()
                .orTimeout(30, TimeUnit.SECONDS);
    }

    URI uri(String path) {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path);
    }

    @Override
    public void close() {
        release();
        client.close();
        server.stop(0);
        threads.shutdownNow();
        clock.shutdownNow();
    }
}
