package dev.holdfast.client;

import static dev.holdfast.client.Eventually.now;
import static dev.holdfast.client.Recorder.answer;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.initialize;
import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.progress;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static dev.holdfast.client.ServerSession.Repeat.HARMLESS;
import static dev.holdfast.client.ServerSession.Repeat.NEVER;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.held.HeldSession;
import dev.holdfast.json.Envelope;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The progress of a call that is sent again does not go back, whichever stream it comes on.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#progress-flow">MCP, progress</a>
 */
@Timeout(30)
class ToldProgressTest {
    private static final String ENDPOINT = "retry: 1\nevent: endpoint\ndata: /message\n\n";

    private final Recorder recorder = new Recorder();
    private final Recorder sink = new Recorder();
    private ScriptedServer server;

    @BeforeEach
    void start() throws IOException {
        server = ScriptedServer.start();
    }

    @AfterEach
    void close() {
        server.close();
    }

    private ServerSession open() {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s1"));
        ServerSession session = recorder.open(remote(server.uri()));
        server.awaitRequests(2);
        return session;
    }

    private static String event(String data) {
        return "data: " + data + "\n\n";
    }

    private static String steps(String token, int... steps) {
        StringBuilder events = new StringBuilder();
        for (int step : steps) {
            events.append(event(progress(token, step)));
        }
        return events.toString();
    }

    /** A run of a call that tells so much of its progress, and whose connection breaks then. */
    private void breaksBehind(Recorder taker, int told, int... steps) {
        server.then((request, reply) -> reply.stream()
                .chunk("retry: 1\n" + steps("a", steps))
                .once(() -> taker.messages.size() >= told)
                .rst());
    }

    /** The last run of it. */
    private void answersBehind(int... steps) {
        server.then((request, reply) ->
                reply.stream().chunk(steps("a", steps) + event(answer(1))).end());
    }

    /** What was told: the number of each progress, and the method of what else came. */
    private static List<String> told(Recorder taker) {
        List<String> told = new ArrayList<>();
        for (Envelope message : taker.messages) {
            String text = new String(message.bytes(), UTF_8);
            told.add(
                    message.progressToken().isPresent()
                            ? text.substring(text.indexOf("\"progress\":") + 11, text.length() - 2)
                            : message.kind().toString());
        }
        return told;
    }

    @Test
    void whatWasToldBeforeACallWasSentAgainIsNotToldAgain() {
        ServerSession session = open();
        breaksBehind(sink, 2, 1, 2);
        breaksBehind(sink, 3, 1, 2, 3);
        answersBehind(1, 2, 3, 4);

        assertThat(now(session.call(call(1, "a"), HARMLESS, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());

        assertThat(told(sink)).containsExactly("1", "2", "3", "4", "RESPONSE");
        session.close();
    }

    /** A server may still work on the first request, and tell it on the stream of the second, which has the same id. */
    @Test
    void ofTwoRunsAtOnceTheOneThatIsAheadIsTold() {
        ServerSession session = open();
        breaksBehind(sink, 2, 1, 2);
        answersBehind(1, 3, 2, 4, 3, 5, 4);

        assertThat(now(session.call(call(1, "a"), HARMLESS, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());

        assertThat(told(sink)).containsExactly("1", "2", "3", "4", "5", "RESPONSE");
        session.close();
    }

    @Test
    void whatAServerTellsOfOneRunPassesThoughItGoesBack() {
        ServerSession session = open();
        answersBehind(2, 1, 1);

        assertThat(now(session.call(call(1, "a"), HARMLESS, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());

        assertThat(told(sink)).containsExactly("2", "1", "1", "RESPONSE");
        session.close();
    }

    @Test
    void soItIsThoughTheServerHasRefusedTheCallBefore() {
        ServerSession session = open();
        server.then((request, reply) -> reply.status(503));
        answersBehind(2, 1, 1);

        assertThat(now(session.call(call(1, "a"), HARMLESS, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());

        assertThat(told(sink)).containsExactly("2", "1", "1", "RESPONSE");
        session.close();
    }

    @Test
    void theProgressOfAnotherCallIsItsOwn() {
        ServerSession session = open();
        Recorder others = new Recorder();
        server.then((request, reply) -> reply.stream()
                .chunk(steps("b", 5))
                .once(() -> told(sink).contains("RESPONSE"))
                .chunk(steps("b", 1) + event(answer(2)))
                .end());
        CompletionStage<Outcome> other = session.call(call(2, "b"), NEVER, NO_CONTEXT, others);
        server.awaitRequests(3);
        breaksBehind(sink, 1, 3);
        answersBehind(1, 4);

        assertThat(now(session.call(call(1, "a"), HARMLESS, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());

        assertThat(now(other)).isEqualTo(new Outcome.Done());
        assertThat(told(sink)).containsExactly("3", "4", "RESPONSE");
        assertThat(told(others)).containsExactly("5", "1", "RESPONSE");
        session.close();
    }

    @Test
    void whatWasNotTakenIsToldWhenItComesAgain() {
        ServerSession session = open();
        breaksBehind(sink, 1, 1);
        server.then((request, reply) -> reply.stream()
                        .chunk("retry: 1\nid: e1\n" + steps("a", 1) + "id: e2\n" + steps("a", 2))
                        .gone())
                .onGet((request, reply) -> reply.stream()
                        .chunk("id: e2\n" + steps("a", 2) + event(answer(1)))
                        .end());
        AtomicInteger failures = new AtomicInteger();
        MessageSink once = message -> {
            if (new String(message.bytes(), UTF_8).contains("\"progress\":2") && failures.getAndIncrement() == 0) {
                return CompletableFuture.failedFuture(new IOException("expected"));
            }
            return sink.message(message);
        };

        assertThat(now(session.call(call(1, "a"), HARMLESS, NO_CONTEXT, once))).isEqualTo(new Outcome.Done());

        assertThat(told(sink)).containsExactly("1", "2", "RESPONSE");
        session.close();
    }

    /** There are servers that tell progress on the listening stream only. */
    @Test
    void whatIsToldOnTheListeningStreamDoesNotGoBackEither() {
        AtomicInteger posts = new AtomicInteger();
        server.onGet((request, reply) -> {
            reply.stream().once(() -> posts.get() == 1).chunk(steps("a", 1, 2));
            reply.once(() -> posts.get() == 2).chunk(steps("a", 1, 2, 3));
            reply.gone();
        });
        ServerSession session = open();
        server.then((request, reply) -> {
                    reply.stream();
                    posts.incrementAndGet();
                    reply.once(() -> recorder.messages.size() == 2).rst();
                })
                .then((request, reply) -> {
                    reply.stream();
                    posts.incrementAndGet();
                    reply.once(() -> told(recorder).contains("3"))
                            .chunk(event(answer(1)))
                            .end();
                });

        assertThat(now(session.call(call(1, "a"), HARMLESS, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());

        assertThat(told(recorder)).containsExactly("1", "2", "3");
        session.close();
    }

    @Test
    void whatIsToldOverHttpSseDoesNotGoBackEither() {
        AtomicInteger posts = new AtomicInteger();
        server.onGet((request, reply) -> reply.stream()
                        .chunk(ENDPOINT)
                        .once(() -> server.requests.size() == 2)
                        .chunk(event(initializeResult()))
                        .once(() -> posts.get() == 1)
                        .chunk(steps("a", 1, 2))
                        .once(() -> posts.get() == 2)
                        .chunk(steps("a", 1, 2, 3) + event(answer(1)))
                        .gone())
                .then((request, reply) -> reply.status(202));
        SessionOpener.Result opened = now(new SessionOpener(remote(server.uri()), recorder, recorder)
                .open(
                        SessionOpener.Protocol.HTTP_SSE,
                        initialize(),
                        NO_CONTEXT,
                        message -> CompletableFuture.completedFuture(null)));
        ServerSession session = ((SessionOpener.Opened) opened).session();
        server.then((request, reply) -> {
                    posts.incrementAndGet();
                    reply.once(() -> recorder.messages.size() == 2).rst();
                })
                .then((request, reply) -> {
                    posts.incrementAndGet();
                    reply.status(202);
                });

        assertThat(now(session.call(call(1, "a"), HARMLESS, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());

        assertThat(told(recorder)).containsExactly("1", "2", "3");
        session.close();
    }

    /** Answers a request under its own id. */
    private static ScriptedServer.Act result(String result, String... headers) {
        return (request, reply) -> reply.json(
                "{\"jsonrpc\":\"2.0\",\"id\":"
                        + Recorder.envelope(request.body()).id().orElseThrow().token() + ",\"result\":" + result + "}",
                headers);
    }

    private void introduces(String session) {
        server.then(result(
                        "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"t\",\"version\":\"1\"}}",
                        "Mcp-Session-Id: " + session))
                .then((request, reply) -> reply.status(202));
    }

    @Test
    void whatWasToldInASessionThatIsLostIsNotToldAgainInTheNext() {
        introduces("s1");
        server.then(
                result("{\"tools\":[{\"name\":\"t\",\"inputSchema\":{},\"annotations\":{\"readOnlyHint\":true}}]}"));
        Recorder application = new Recorder();
        HeldSession session = new HeldSession(
                remote(server.uri()), SessionOpener.Protocol.STREAMABLE_HTTP, application, SessionWatch.NONE);
        assertThat(now(session.send(initialize(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        assertThat(now(session.send(Recorder.initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        Envelope list = Recorder.envelope("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/list\"}");
        assertThat(now(session.send(list, NO_CONTEXT))).isEqualTo(new Outcome.Done());
        application.messages.clear();
        breaksBehind(application, 2, 1, 2);
        server.then((request, reply) -> reply.status(404));
        introduces("s2");
        answersBehind(1, 2, 3);

        assertThat(now(session.send(call(1, "a"), NO_CONTEXT))).isEqualTo(new Outcome.Done());

        assertThat(told(application)).containsExactly("1", "2", "3", "RESPONSE");
        session.close();
    }
}
