package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.sun.net.httpserver.HttpExchange;
import dev.holdfast.ByteBudget;
import dev.holdfast.json.Envelope;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** How much may wait for an upstream that works on each call until the test releases it. */
@Timeout(60)
class RequestRoomTest {
    private static final int LARGE = 2 * RequestRoom.SHORT;
    private static final String NO_ROOM = "the upstream has not got the request: requests of all clients";

    private final ByteBudget room = new ByteBudget(Long.MAX_VALUE, LARGE - 1, Duration.ofSeconds(30));
    private final List<Envelope> arrived = new CopyOnWriteArrayList<>();
    private final CompletableFuture<List<InboundMessage>> givenBack = new CompletableFuture<>();
    private volatile boolean sessionLost;
    private AskedServer server;
    private UpstreamBackend backend;
    private BackendConnection connection;

    @BeforeEach
    void open() throws IOException {
        server = new AskedServer(UpstreamHttp.jdk());
        server.serve("/mcp", this::answer);
        UpstreamBackendBuilder builder = UpstreamBackend.builder(server.uri("/mcp"));
        builder.budget(room);
        backend = builder.open();
        Backend.OpenRequest request = new Backend.OpenRequest(
                message(
                        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}"),
                "",
                "life",
                false);
        Backend.Outcome outcome = backend.open(request, new LossListening(givenBack::complete))
                .toCompletableFuture()
                .orTimeout(20, TimeUnit.SECONDS)
                .join();
        connection = ((Backend.Opened) outcome).connection();
    }

    @AfterEach
    void close() {
        server.release();
        connection.close().toCompletableFuture().orTimeout(20, TimeUnit.SECONDS).join();
        backend.close();
        server.close();
    }

    private void answer(HttpExchange asked) throws IOException {
        try (asked) {
            if (!asked.getRequestMethod().equals("POST")) {
                asked.sendResponseHeaders(405, -1);
                return;
            }
            Envelope message =
                    UpstreamBackend.ENVELOPES.message(asked.getRequestBody().readAllBytes());
            if (message.method().equals("initialize")) {
                asked.getResponseHeaders().set("Mcp-Session-Id", "s");
                respond(asked, message, "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}");
                return;
            }
            arrived.add(message);
            if (sessionLost) {
                asked.sendResponseHeaders(404, -1);
                return;
            }
            server.awaitRelease();
            if (message.kind() == Envelope.Kind.REQUEST) {
                respond(asked, message, "{}");
            } else {
                asked.sendResponseHeaders(202, -1);
            }
        }
    }

    private static void respond(HttpExchange asked, Envelope request, String result) throws IOException {
        byte[] body = ("{\"jsonrpc\":\"2.0\",\"id\":"
                        + request.id().orElseThrow().token() + ",\"result\":" + result + "}")
                .getBytes(UTF_8);
        asked.getResponseHeaders().set("Content-Type", "application/json");
        asked.sendResponseHeaders(200, body.length);
        asked.getResponseBody().write(body);
    }

    private static InboundMessage message(String json) {
        return UpstreamBackend.ENVELOPES.message(json.getBytes(UTF_8)).inbound(InboundMessage.NO_CONTEXT);
    }

    private static String padding(int size) {
        return "x".repeat(size);
    }

    /** A call whose request has some more bytes than this. */
    private Sink call(int id, int size) {
        Sink sink = new Sink();
        connection.call(
                message("{\"jsonrpc\":\"2.0\",\"id\":" + id
                        + ",\"method\":\"tools/call\",\"params\":{\"name\":\"slow\",\"arguments\":{\"a\":\""
                        + padding(size)
                        + "\"}}}"),
                sink);
        return sink;
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).isLessThan(deadline);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
        }
    }

    private List<String> arrivedIds() {
        return arrived.stream()
                .flatMap(message -> message.id().stream())
                .map(id -> id.token())
                .toList();
    }

    @Test
    void aCallForWhichThereIsNoRoomIsNotSentAndSaysSo() {
        Sink first = call(1, LARGE);
        assertThat(room.taken()).isGreaterThan(LARGE);

        Logger logger = (Logger) LoggerFactory.getLogger(RequestRoom.class);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        logger.addAppender(log);
        assertThat(call(2, LARGE).last()).contains("\"id\":2", "\"error\"", NO_ROOM);
        logger.detachAppender(log);
        assertThat(log.list)
                .singleElement()
                .asString()
                .contains("session session: a request is not sent: " + room.taken() + " bytes wait");
        Sink small = call(3, 10);
        await(() -> arrived.size() == 2);
        server.release();

        assertThat(first.last()).contains("\"result\"");
        assertThat(small.last()).contains("\"result\"");
        await(() -> room.taken() == 0);
        assertThat(call(4, LARGE).last()).contains("\"id\":4", "\"result\"");
        assertThat(arrivedIds()).containsExactlyInAnyOrder("1", "3", "4");
    }

    @Test
    void smallCallsHaveABoundToo() {
        List<Sink> sinks = new ArrayList<>();
        while (room.taken() < (LARGE - 1) * 5L / 4) {
            sinks.add(call(sinks.size(), RequestRoom.SHORT / 4));
        }

        assertThat(call(sinks.size(), 10).last()).contains(NO_ROOM);
        server.release();

        assertThat(sinks).allSatisfy(sink -> assertThat(sink.last()).contains("\"result\""));
        await(() -> room.taken() == 0);
    }

    @Test
    void aCallThatIsCancelledGivesItsRoomBackWhenItIsGivenUp() {
        Sink call = call(1, LARGE);
        await(() -> arrived.size() == 1);

        call.cancel();

        await(() -> arrived.size() == 2);
        server.release();
        await(() -> room.taken() == 0);
    }

    @Test
    void whatIsGivenBackToTheEngineTakesNoRoom() {
        sessionLost = true;

        call(1, LARGE);

        assertThat(givenBack.orTimeout(20, TimeUnit.SECONDS).join()).hasSize(1);
        await(() -> room.taken() == 0);
    }

    @Test
    void aSessionThatIsClosedTakesNoRoom() {
        call(1, LARGE);
        await(() -> arrived.size() == 1);

        connection.close();
        assertThat(room.taken()).isZero();
        call(2, LARGE);

        assertThat(room.taken()).isZero();
    }

    /** Else the calls of others would keep it from being cancelled, and from answering. */
    @Test
    void aMessageWithoutAResponseTakesRoomAndIsSentThoughThereIsNone() {
        call(1, LARGE);
        await(() -> arrived.size() == 1);
        long before = room.taken();

        connection.notify(message("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"a\":\""
                + padding(LARGE) + "\"}}"));

        assertThat(room.taken()).isGreaterThan(before + LARGE);
        await(() -> arrived.size() == 2);
        assertThat(givenBack).isNotDone();
        server.release();
        await(() -> room.taken() == 0);
    }

    /** What comes for one call. */
    private static final class Sink implements CallSink {
        private final CompletableFuture<String> last = new CompletableFuture<>();
        private volatile CancelHook hook = notification -> {};

        private String last() {
            return last.orTimeout(20, TimeUnit.SECONDS).join();
        }

        private void cancel() {
            hook.cancelled(Optional.empty());
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            last.complete(new String(message.bytes(), UTF_8));
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void onCancel(CancelHook next) {
            hook = next;
        }

        @Override
        public void disconnect(Duration retry) {}

        @Override
        public String sessionId() {
            return "session";
        }
    }
}
