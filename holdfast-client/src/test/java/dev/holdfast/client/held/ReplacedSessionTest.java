package dev.holdfast.client.held;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.holdfast.client.ClientLimits;
import dev.holdfast.client.Eventually;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpener.Protocol;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.client.wire.HttpSender;
import dev.holdfast.client.wire.MarkedBody;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandler;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is sent while a session is being replaced, in which order, and what of it is given up meanwhile. */
@Timeout(30)
class ReplacedSessionTest {
    private final ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1);
    private final ExecutorService threads = Executors.newCachedThreadPool();
    /** What was sent, in order: the session's id, the method and the message's id. */
    private final List<String> sent = new CopyOnWriteArrayList<>();

    private final Set<String> known = ConcurrentHashMap.newKeySet();
    private final AtomicInteger sessions = new AtomicInteger();
    private volatile CountDownLatch openings = new CountDownLatch(0);
    /** Holds back what the server says of a session that it does not know. */
    private volatile CountDownLatch refusals = new CountDownLatch(0);
    /** Holds the thread on which another session is opened. */
    private volatile CountDownLatch opens = new CountDownLatch(0);

    /** What the server speaks with those who come now. */
    private volatile String revision = "2025-11-25";
    /** What the application was told that failed. */
    private final List<Throwable> failures = new CopyOnWriteArrayList<>();

    private final CountDownLatch slow = new CountDownLatch(1);
    private final AtomicInteger running = new AtomicInteger();
    private HttpServer server;
    private HeldSession session;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
        server.setExecutor(threads);
        server.createContext("/mcp", this::serve);
        server.start();
        session = held(ClientLimits.DEFAULT);
        begin();
    }

    private void begin() {
        assertThat(now(send("\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
                        + "\"capabilities\":{},\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}")))
                .isEqualTo(new Outcome.Done());
        assertThat(now(send("\"method\":\"notifications/initialized\""))).isEqualTo(new Outcome.Done());
        sent.clear();
    }

    private HeldSession held(ClientLimits limits) {
        URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/mcp");
        HttpClient http =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        RemoteServer remote = RemoteServer.at(uri, recording(HttpSender.by(http)), clock, threads)
                .withLimits(limits);
        return new HeldSession(
                remote,
                Protocol.STREAMABLE_HTTP,
                message -> CompletableFuture.completedFuture(null),
                new SessionWatch() {
                    @Override
                    public void failed(Throwable failure) {
                        failures.add(failure);
                    }
                });
    }

    private HttpSender recording(HttpSender sender) {
        return new HttpSender() {
            @Override
            public <T> CompletableFuture<?> send(HttpRequest request, BodyHandler<T> answer) {
                request.bodyPublisher().ifPresent(body -> {
                    Envelope message = envelope(new String(((MarkedBody) body).bytes(), UTF_8));
                    sent.add(request.headers().firstValue("Mcp-Session-Id").orElse("") + " " + message.method()
                            + message.id().map(id -> " " + id.token()).orElse(""));
                    if (message.method().equals("initialize")) {
                        await(opens);
                    }
                });
                return sender.send(request, answer);
            }
        };
    }

    @AfterEach
    void stop() {
        slow.countDown();
        opens.countDown();
        refusals.countDown();
        openings.countDown();
        session.close();
        server.stop(0);
        threads.shutdownNow();
        clock.shutdownNow();
    }

    private void serve(HttpExchange exchange) throws IOException {
        byte[] body = exchange.getRequestBody().readAllBytes();
        if (!exchange.getRequestMethod().equals("POST")) {
            answer(exchange, 405, "");
            return;
        }
        Envelope message = envelope(new String(body, UTF_8));
        String id = exchange.getRequestHeaders().getFirst("Mcp-Session-Id");
        if (message.method().equals("initialize")) {
            await(openings);
            String opened = "s" + sessions.incrementAndGet();
            known.add(opened);
            exchange.getResponseHeaders().add("Mcp-Session-Id", opened);
        } else if (id == null || !known.contains(id)) {
            await(refusals);
            answer(exchange, 404, "");
            return;
        }
        if (message.kind() != Envelope.Kind.REQUEST) {
            answer(exchange, 202, "");
            return;
        }
        if (message.method().equals("slow")) {
            running.incrementAndGet();
            await(slow);
        }
        exchange.getResponseHeaders().add("Content-Type", "application/json");
        String result = message.method().equals("initialize")
                ? "{\"protocolVersion\":\"" + revision
                        + "\",\"capabilities\":{},\"serverInfo\":{\"name\":\"t\",\"version\":\"1\"}}"
                : "{}";
        answer(
                exchange,
                200,
                "{\"jsonrpc\":\"2.0\",\"id\":" + message.id().orElseThrow().token() + ",\"result\":" + result + "}");
    }

    private static void answer(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(UTF_8);
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Envelope envelope(String json) {
        return ((EnvelopeReader.Single) new EnvelopeReader().read(json.getBytes(UTF_8))).message();
    }

    private CompletableFuture<Outcome> send(String members) {
        return session.send(envelope("{\"jsonrpc\":\"2.0\"," + members + "}"), ServerSession.NO_CONTEXT)
                .toCompletableFuture();
    }

    private CompletableFuture<Outcome> call(int id) {
        return send("\"id\":" + id + ",\"method\":\"tools/call\",\"params\":{\"name\":\"writes\"}");
    }

    /** A call that the server works on. */
    private CompletableFuture<Outcome> slow(int id) {
        int before = running.get();
        CompletableFuture<Outcome> call = send("\"id\":" + id + ",\"method\":\"slow\"");
        Eventually.await(() -> running.get() > before, () -> "that the server works on it: " + sent);
        return call;
    }

    private CompletableFuture<Outcome> cancel(int id) {
        return send("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" + id + "}");
    }

    private static <T> T now(CompletableFuture<T> stage) {
        return stage.orTimeout(20, TimeUnit.SECONDS).join();
    }

    /** The server loses the session, this call finds that out, and another session is long in coming. */
    private CompletableFuture<Outcome> refused(int id) {
        known.clear();
        openings = new CountDownLatch(1);
        refusals = new CountDownLatch(1);
        CompletableFuture<Outcome> call = call(id);
        refusals.countDown();
        awaitSent(" initialize \"holdfast-");
        return call;
    }

    private void awaitSent(String begins) {
        Eventually.await(() -> sent.stream().anyMatch(line -> line.startsWith(begins)), () -> begins + " in " + sent);
    }

    @Test
    void aCallThatIsCancelledWhileItWaitsForAnotherSessionIsNeverSent() {
        CompletableFuture<Outcome> first = refused(1);
        CompletableFuture<Outcome> waiting = call(2);

        CompletableFuture<Outcome> cancellation = cancel(2);

        assertThat(now(waiting)).isEqualTo(new Outcome.Cancelled());
        assertThat(now(cancellation)).isEqualTo(new Outcome.Done());
        openings.countDown();
        assertThat(now(first)).isEqualTo(new Outcome.Done());
        assertThat(now(call(3))).isEqualTo(new Outcome.Done());
        assertThat(sent)
                .endsWith("s2 tools/call 1", "s2 tools/call 3")
                .noneMatch(line -> line.contains("tools/call 2") || line.contains("cancelled"));
    }

    @Test
    void aCallThatTheLostSessionHasRefusedIsNotSentAgainOnceItIsCancelled() {
        CompletableFuture<Outcome> refused = refused(1);

        CompletableFuture<Outcome> cancellation = cancel(1);

        assertThat(now(refused)).isEqualTo(new Outcome.Cancelled());
        assertThat(now(cancellation)).isEqualTo(new Outcome.Done());
        openings.countDown();
        assertThat(now(call(2))).isEqualTo(new Outcome.Done());
        assertThat(sent).endsWith("s2 tools/call 2").doesNotContain("s2 tools/call 1");
    }

    @Test
    void aCallIsCancelledAtOnceThoughTheLossOfItsSessionIsStillBeingNoticed() {
        opens = new CountDownLatch(1);
        CompletableFuture<Outcome> refused = refused(1);

        assertThat(now(cancel(1))).isEqualTo(new Outcome.Done());

        opens.countDown();
        assertThat(now(refused)).isEqualTo(new Outcome.Cancelled());
    }

    @Test
    void thatAnotherSessionIsOfAnotherRevisionIsTold() {
        known.clear();
        assertThat(now(call(1))).isEqualTo(new Outcome.Done());
        assertThat(failures).isEmpty();

        known.clear();
        revision = "2025-06-18";
        assertThat(now(call(2))).isEqualTo(new Outcome.Done());
        assertThat(failures)
                .singleElement()
                .asString()
                .endsWith("is of revision 2025-06-18, and the application speaks 2025-11-25");
    }

    @Test
    void whatWaitsForAnotherSessionIsSentInOrder() {
        CompletableFuture<Outcome> first = refused(1);
        List<CompletableFuture<Outcome>> waiting =
                IntStream.range(2, 6).mapToObj(this::call).toList();

        openings.countDown();

        assertThat(now(first)).isEqualTo(new Outcome.Done());
        waiting.forEach(call -> assertThat(now(call)).isEqualTo(new Outcome.Done()));
        assertThat(sent)
                .contains("s2 tools/call 1")
                .containsSubsequence("s2 tools/call 2", "s2 tools/call 3", "s2 tools/call 4", "s2 tools/call 5");
    }

    @Test
    void aCallThatStillRunsInTheLostSessionIsCancelledWithoutAWordToTheNext() {
        CompletableFuture<Outcome> call = slow(1);
        known.clear();
        assertThat(now(call(2))).isEqualTo(new Outcome.Done());

        assertThat(now(cancel(1))).isEqualTo(new Outcome.Done());

        assertThat(now(call)).isEqualTo(new Outcome.Cancelled());
        assertThat(sent).noneMatch(line -> line.contains("cancelled"));
    }

    @Test
    void aCallCanBeCancelledAndAQuestionAnsweredThoughNoOtherCallMayBeMade() {
        session.close();
        session = held(ClientLimits.DEFAULT.withInFlight(1));
        begin();
        CompletableFuture<Outcome> call = slow(1);
        assertThat(now(call(2))).isInstanceOf(Outcome.NotSent.class);

        assertThat(now(send("\"id\":7,\"result\":{}"))).isEqualTo(new Outcome.Done());
        assertThat(now(cancel(1))).isEqualTo(new Outcome.Done());

        assertThat(now(call)).isEqualTo(new Outcome.Cancelled());
        assertThat(now(call(3))).isEqualTo(new Outcome.Done());
    }

    @Test
    void whatHasNoResponseIsBoundedByItsBytes() {
        CompletableFuture<Outcome> call = refused(1);
        String large = "\"method\":\"notifications/large\",\"params\":{\"text\":\"" + "x".repeat(17 << 20) + "\"}";
        CompletableFuture<Outcome> first = send(large);
        CompletableFuture<Outcome> second = send(large);

        assertThat(now(send("\"method\":\"notifications/small\""))).isInstanceOf(Outcome.NotSent.class);

        assertThat(now(cancel(1))).isEqualTo(new Outcome.Done());
        assertThat(now(call)).isEqualTo(new Outcome.Cancelled());
        openings.countDown();
        assertThat(now(first)).isEqualTo(new Outcome.Done());
        assertThat(now(second)).isEqualTo(new Outcome.Done());
        assertThat(now(send("\"method\":\"notifications/small\""))).isEqualTo(new Outcome.Done());
    }
}
