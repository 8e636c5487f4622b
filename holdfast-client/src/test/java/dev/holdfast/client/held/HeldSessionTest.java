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
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server that loses its session. */
@Timeout(30)
class HeldSessionTest {
    private static final String INITIALIZE = """
            {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},\
            "clientInfo":{"name":"test","version":"1"}}}""";
    private static final String QUESTION = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"roots/list\"}";

    private final ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1);
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<String> received = new CopyOnWriteArrayList<>();
    private final List<String> told = new CopyOnWriteArrayList<>();
    private final List<String> heard = new CopyOnWriteArrayList<>();
    private HttpServer server;
    private HeldSession session;
    private final AtomicInteger sessions = new AtomicInteger();
    private volatile CountDownLatch held = new CountDownLatch(0);
    private volatile CountDownLatch introductionHeld = new CountDownLatch(0);
    private volatile boolean asks;
    private volatile boolean endsStreams;
    private final AtomicInteger gaps = new AtomicInteger();
    private volatile boolean loses;
    private volatile boolean refusesInitialize;
    private volatile boolean busy;
    private volatile boolean forgets;
    /** So many sessions are lost before they are introduced. */
    private final AtomicInteger shortLived = new AtomicInteger();

    private volatile boolean failsOnce;

    private final List<String> outages = new CopyOnWriteArrayList<>();

    private final SessionWatch watch = new SessionWatch() {
        @Override
        public void reconnecting(Throwable cause) {
            outages.add("begun");
        }

        @Override
        public void resumed(Duration away) {
            outages.add("over");
        }

        @Override
        public void gap() {
            gaps.incrementAndGet();
        }

        @Override
        public void sessionReplaced() {
            heard.add("replaced");
        }

        @Override
        public void failed(Throwable failure) {
            heard.add("failed");
        }
    };

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
        server.setExecutor(threads);
        server.createContext("/mcp", this::serve);
        server.start();
        session = held(ClientLimits.DEFAULT);
    }

    private HeldSession held(ClientLimits limits) {
        RemoteServer remote = RemoteServer.at(
                        URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/mcp"),
                        HttpClient.newBuilder()
                                .version(HttpClient.Version.HTTP_1_1)
                                .build(),
                        clock,
                        Runnable::run)
                .withLimits(limits);
        return new HeldSession(
                remote,
                Protocol.AUTOMATIC,
                message -> {
                    if (failsOnce) {
                        failsOnce = false;
                        throw new IllegalStateException("not now");
                    }
                    received.add(new String(message.bytes(), UTF_8));
                    return CompletableFuture.completedFuture(null);
                },
                watch);
    }

    @AfterEach
    void stop() {
        session.close();
        server.stop(0);
        threads.shutdownNow();
        clock.shutdownNow();
    }

    /** Forgets its session whenever the test wants, and takes no message under its id then. */
    private void serve(HttpExchange exchange) throws IOException {
        String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
        if (!exchange.getRequestMethod().equals("POST")) {
            exchange.getResponseHeaders().add("Content-Type", "text/event-stream");
            answer(exchange, endsStreams ? 200 : 405, endsStreams ? ": nothing\n\n" : "");
            return;
        }
        if (busy) {
            answer(exchange, 503, "");
            return;
        }
        Envelope message = envelope(body);
        String id = exchange.getRequestHeaders().getFirst("Mcp-Session-Id");
        if (message.method().equals("initialize") && refusesInitialize) {
            answer(exchange, 403, "");
            return;
        }
        boolean initialized = message.method().equals("notifications/initialized");
        if (initialized && shortLived.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            sessions.incrementAndGet();
        }
        boolean unknown = forgets || !("s" + sessions.get()).equals(id);
        if (!message.method().equals("initialize") && unknown) {
            answer(exchange, 404, "");
            return;
        }
        told.add((id == null ? "" : id) + " " + message.method()
                + message.id().map(known -> " " + known.token()).orElse(""));
        if (message.kind() != Envelope.Kind.REQUEST) {
            if (initialized) {
                await(introductionHeld);
            }
            answer(exchange, 202, "");
            return;
        }
        if (message.method().equals("initialize")) {
            sessions.incrementAndGet();
            exchange.getResponseHeaders().add("Mcp-Session-Id", "s" + sessions.get());
        } else if (loses) {
            loses = false;
            sessions.incrementAndGet();
            streamThatBreaks(exchange);
            return;
        }
        await(held);
        String asked = asks ? "data: " + QUESTION + "\n\n" : "";
        exchange.getResponseHeaders().add("Content-Type", "text/event-stream");
        answer(exchange, 200, asked + "data: " + result(message) + "\n\n");
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String result(Envelope message) {
        String result = switch (message.method()) {
            case "initialize" ->
                "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":true}},"
                        + "\"serverInfo\":{\"name\":\"t\",\"version\":\"1\"}}";
            case "tools/list" ->
                "{\"tools\":[{\"name\":\"reads\",\"inputSchema\":{},\"annotations\":{\"readOnlyHint\":true}}]}";
            default -> "{}";
        };
        return "{\"jsonrpc\":\"2.0\",\"id\":" + message.id().orElseThrow().token() + ",\"result\":" + result + "}";
    }

    private static void streamThatBreaks(HttpExchange exchange) throws IOException {
        exchange.getResponseHeaders().add("Content-Type", "text/event-stream");
        exchange.sendResponseHeaders(200, 1_000);
        exchange.getResponseBody().write("id: e1\nretry: 1\ndata:\n\n".getBytes(UTF_8));
        exchange.close();
    }

    private static void answer(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(UTF_8);
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private static Envelope envelope(String json) {
        return ((EnvelopeReader.Single) new EnvelopeReader().read(json.getBytes(UTF_8))).message();
    }

    private Outcome send(String json) {
        return session.send(envelope(json), ServerSession.NO_CONTEXT)
                .toCompletableFuture()
                .orTimeout(20, TimeUnit.SECONDS)
                .join();
    }

    private Outcome call(int id, String tool) {
        return send("{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"method\":\"tools/call\",\"params\":{\"name\":\"" + tool
                + "\",\"arguments\":{}}}");
    }

    private void begin() {
        assertThat(send(INITIALIZE)).isEqualTo(new Outcome.Done());
        assertThat(send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"))
                .isEqualTo(new Outcome.Done());
    }

    @Test
    void aCallInTheSameBreathWaitsUntilTheServerHasTheIntroduction() {
        send(INITIALIZE);
        introductionHeld = new CountDownLatch(1);
        CompletionStage<Outcome> initialized = session.send(
                envelope("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"), ServerSession.NO_CONTEXT);
        CompletionStage<Outcome> called = session.send(
                envelope("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"), ServerSession.NO_CONTEXT);
        Eventually.await(() -> told.size() > 1, () -> "that something came behind initialize");
        // long enough for a call that does not wait
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
        assertThat(told).containsExactly(" initialize 0", "s1 notifications/initialized");

        introductionHeld.countDown();

        assertThat(initialized
                        .toCompletableFuture()
                        .orTimeout(20, TimeUnit.SECONDS)
                        .join())
                .isEqualTo(new Outcome.Done());
        assertThat(called.toCompletableFuture().orTimeout(20, TimeUnit.SECONDS).join())
                .isEqualTo(new Outcome.Done());
        assertThat(told).endsWith("s1 notifications/initialized", "s1 tools/list 1");
    }

    @Test
    void refusedCallGoesToTheSessionThatReplacesTheLostOne() {
        begin();
        sessions.incrementAndGet();

        assertThat(call(1, "writes")).isEqualTo(new Outcome.Done());

        assertThat(told)
                .containsExactly(
                        " initialize 0",
                        "s1 notifications/initialized",
                        " initialize \"holdfast-1\"",
                        "s3 notifications/initialized",
                        "s3 tools/call 1");
        Eventually.await(() -> !heard.isEmpty(), () -> "that the session was replaced");
        assertThat(heard).containsExactly("replaced");
    }

    @Test
    void applicationHearsOfTheListsItMayHaveMissedAndOfNoAnswerThatIsNotIts() {
        begin();
        sessions.incrementAndGet();
        call(1, "writes");

        awaitReceived("notifications/tools/list_changed");
        assertThat(received).noneMatch(message -> message.contains("holdfast-"));
    }

    @Test
    void applicationIsNotToldOfEachOfManyGaps() {
        endsStreams = true;
        begin();
        Eventually.await(() -> gaps.get() >= 4, () -> "that more than one gap was seen");

        awaitReceived("notifications/tools/list_changed");
        assertThat(received.stream().filter(message -> message.contains("list_changed")))
                .hasSizeLessThan(gaps.get());
    }

    @Test
    void logLevelAndSubscriptionsAreRestored() {
        begin();
        send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"}}");
        send("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"error\"}}");
        send("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"a://b\"}}");
        send("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"a://c\"}}");
        send("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"resources/unsubscribe\",\"params\":{\"uri\":\"a://b\"}}");
        sessions.incrementAndGet();

        assertThat(call(6, "writes")).isEqualTo(new Outcome.Done());

        assertThat(told)
                .endsWith(
                        "s3 notifications/initialized",
                        "s3 resources/subscribe \"holdfast-2\"",
                        "s3 logging/setLevel \"holdfast-3\"",
                        "s3 tools/call 6");
        awaitReceived("resources/updated", "a://c");
    }

    /** What is told of a new session may come after the answers of calls that waited for it. */
    private void awaitReceived(String... parts) {
        Eventually.await(
                () -> received.stream().anyMatch(message -> Stream.of(parts).allMatch(message::contains)),
                () -> "a message with " + List.of(parts));
    }

    @Test
    void runningCallOfTheLostSessionIsNotRunTwice() {
        begin();
        loses = true;

        assertThat(call(1, "writes")).isInstanceOf(Outcome.Unknown.class);

        assertThat(call(2, "writes")).isEqualTo(new Outcome.Done());
        assertThat(told.stream().filter(line -> line.contains("tools/call"))).hasSize(2);
    }

    @Test
    void runningCallOfAToolThatOnlyReadsIsRunAgain() {
        begin();
        send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
        loses = true;

        assertThat(call(2, "reads")).isEqualTo(new Outcome.Done());
    }

    @Test
    void answerToAQuestionOfTheLostSessionReachesNoOther() {
        begin();
        asks = true;
        call(1, "writes");
        sessions.incrementAndGet();
        call(2, "writes");
        List<Envelope> questions = received.stream()
                .map(HeldSessionTest::envelope)
                .filter(message -> message.kind() == Envelope.Kind.REQUEST)
                .toList();
        assertThat(questions).hasSizeGreaterThan(1);
        awaitReceived("notifications/cancelled");
        Envelope first = questions.get(0);
        Envelope last = questions.get(questions.size() - 1);
        assertThat(first.id()).isNotEqualTo(last.id());
        int before = told.size();

        for (Envelope question : List.of(first, last)) {
            send("{\"jsonrpc\":\"2.0\",\"id\":" + question.id().orElseThrow().token() + ",\"result\":{\"roots\":[]}}");
        }

        assertThat(told.subList(before, told.size())).containsExactly("s3  0");
    }

    @Test
    void endOfAnOutageIsToldThoughTheSessionThatNoticedItWasGivenUp() {
        session.close();
        session = held(ClientLimits.DEFAULT.withRetryTimeout(Duration.ofMillis(300)));
        busy = true;
        assertThat(send(INITIALIZE)).isInstanceOf(Outcome.NotSent.class);
        assertThat(outages).containsExactly("begun");
        busy = false;

        begin();

        assertThat(outages).containsExactly("begun", "over");
    }

    @Test
    void whoGivesAMessageUpTakesNoPlaceAmongThoseUnderWay() {
        session.close();
        session = held(ClientLimits.DEFAULT.withInFlight(1));
        begin();
        held = new CountDownLatch(1);
        session.send(
                        envelope(
                                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"writes\"}}"),
                        ServerSession.NO_CONTEXT)
                .toCompletableFuture()
                .cancel(true);
        held.countDown();

        Eventually.await(() -> call(2, "writes") instanceof Outcome.Done, () -> "that there is room for another call");
    }

    @Test
    void serverThatOpensNoOtherSessionIsAskedAgainByTheNextMessage() {
        begin();
        sessions.incrementAndGet();
        refusesInitialize = true;
        assertThat(call(1, "writes")).isEqualTo(new Outcome.SessionGone());
        assertThat(heard).containsExactly("failed");

        refusesInitialize = false;

        assertThat(call(2, "writes")).isEqualTo(new Outcome.Done());
    }

    @Test
    void sessionThatIsLostWhileItReplacesAnotherIsReplacedToo() {
        begin();
        sessions.incrementAndGet();
        shortLived.set(3);

        assertThat(call(1, "writes")).isEqualTo(new Outcome.Done());

        assertThat(told.stream().filter(line -> line.contains("tools/call"))).hasSize(1);
        Eventually.await(() -> !heard.isEmpty(), () -> "that the session was replaced");
        assertThat(heard).containsExactly("replaced");
    }

    @Test
    void closingWhileAnotherSessionIsTriedIsNoFailure() {
        begin();
        sessions.incrementAndGet();
        shortLived.set(Integer.MAX_VALUE);
        CompletableFuture<Outcome> call = CompletableFuture.supplyAsync(() -> call(1, "writes"), threads);
        Eventually.await(
                () -> told.stream().filter(line -> line.contains("initialize ")).count() >= 4, () -> told.toString());

        session.close();

        assertThat(call.orTimeout(20, TimeUnit.SECONDS).join()).isEqualTo(new Outcome.Closed());
        Eventually.await(
                () -> clock.getActiveCount() == 0
                        && clock.getQueue().stream().allMatch(task -> ((Future<?>) task).isDone()),
                () -> "that nothing is to be done any more");
        assertThat(heard).isEmpty();
    }

    @Test
    void manyWhoMissTheSessionGetOneNewOne() {
        begin();
        sessions.incrementAndGet();

        List<CompletableFuture<Outcome>> calls = IntStream.range(1, 21)
                .mapToObj(id -> CompletableFuture.supplyAsync(() -> call(id, "writes"), threads))
                .toList();

        assertThat(calls).allSatisfy(call -> assertThat(call.join()).isEqualTo(new Outcome.Done()));
        assertThat(sessions).hasValue(3);
    }

    @Test
    void applicationThatIntroducesItselfAgainGetsASessionOfItsOwn() {
        begin();
        send("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"a://b\"}}");
        begin();
        sessions.incrementAndGet();

        assertThat(call(6, "writes")).isEqualTo(new Outcome.Done());
        assertThat(told.subList(4, told.size())).noneMatch(line -> line.contains("subscribe"));
    }

    @Test
    void sessionsThatAreLostAtOnceAreReplacedWithPausesUntilTheRetryTimeoutIsOver() throws Exception {
        session = held(ClientLimits.DEFAULT.withRetryTimeout(Duration.ofSeconds(2)));
        begin();
        forgets = true;

        CompletableFuture<Outcome> call = CompletableFuture.supplyAsync(() -> call(1, "writes"), threads);

        assertThat(call.get(20, TimeUnit.SECONDS)).isInstanceOf(Outcome.SessionGone.class);
        assertThat(sessions.get()).isLessThan(10);
    }

    @Test
    void sessionsThatServeAreReplacedAtOnceHoweverOftenTheyAreLost() {
        begin();

        for (int i = 1; i <= 50; i++) {
            sessions.incrementAndGet();
            assertThat(call(i, "writes")).isEqualTo(new Outcome.Done());
        }

        Eventually.await(() -> heard.size() >= 50, () -> "that 50 sessions were replaced");
        assertThat(heard).hasSize(50).containsOnly("replaced");
    }

    @Test
    void applicationThatFailsToTakeAResponseHasNoHangingCall() {
        begin();
        failsOnce = true;
        assertThat(call(1, "writes")).isNotEqualTo(new Outcome.Closed());

        assertThat(call(2, "writes")).isEqualTo(new Outcome.Done());
    }

    @Test
    void closeEndsWhatWaitsForAReplacement() throws Exception {
        begin();
        sessions.incrementAndGet();
        server.stop(0);
        CompletableFuture<Outcome> call = CompletableFuture.supplyAsync(() -> call(1, "writes"), threads);

        session.close().toCompletableFuture().get(10, TimeUnit.SECONDS);

        assertThat(call.get(10, TimeUnit.SECONDS)).isEqualTo(new Outcome.Closed());
    }

    @Test
    void messagesUnderWayAreBounded() throws Exception {
        session = held(ClientLimits.DEFAULT.withInFlight(1));
        begin();
        CountDownLatch answers = new CountDownLatch(1);
        held = answers;
        CompletableFuture<Outcome> running = CompletableFuture.supplyAsync(() -> call(1, "writes"), threads);
        Eventually.await(() -> told.stream().anyMatch(line -> line.contains("tools/call")), () -> "the call: " + told);

        assertThat(call(2, "writes")).isInstanceOf(Outcome.NotSent.class);
        answers.countDown();
        assertThat(running.get(10, TimeUnit.SECONDS)).isEqualTo(new Outcome.Done());
        assertThat(call(3, "writes")).isEqualTo(new Outcome.Done());
    }
}
