package dev.holdfast.client;

import static dev.holdfast.client.Eventually.now;
import static dev.holdfast.client.Recorder.answer;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.initialized;
import static dev.holdfast.client.Recorder.log;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static dev.holdfast.client.ServerSession.Repeat.HARMLESS;
import static dev.holdfast.client.ServerSession.Repeat.NEVER;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls at a server that answers in order, and with no answer. */
@Tag("jdk")
@Timeout(30)
@Execution(ExecutionMode.CONCURRENT)
class NoAnswerTest {
    private final Recorder recorder = new Recorder();
    private final Recorder sink = new Recorder();
    private ScriptedServer server;
    private ServerSession session;

    /** What a server, or a proxy before it, may say that is no answer. */
    enum Came {
        ACCEPTED("status 202", (request, reply) -> reply.status(202)),
        NOTHING("status 204", (request, reply) -> reply.status(204)),
        EMPTY("status 200", (request, reply) -> reply.status(200)),
        LOGIN("'text/html'", (request, reply) -> reply.raw(body("text/html", "<p>Login</p>"))),
        LOGIN_AS_JSON("no JSON-RPC message", (request, reply) -> reply.json("<html>")),
        COURTESY("no JSON-RPC message", (request, reply) -> reply.json("{\"message\":\"Accepted\"}")),
        ANOTHER_ID("no response in it", (request, reply) -> reply.json(answer(7))),
        ERROR_OF_NOBODY(
                "no response in it",
                (request, reply) ->
                        reply.json("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"x\"}}")),
        EMPTY_STREAM("no response", (request, reply) -> reply.stream().end()),
        STREAM_OF_COMMENTS(
                "no response",
                (request, reply) -> reply.stream().chunk(": ok\n\n").end()),
        STREAM_OF_NEWS(
                "no response",
                (request, reply) ->
                        reply.stream().chunk("data: " + log("one") + "\n\n").end()),
        STREAM_OF_ANOTHER_ID(
                "no response",
                (request, reply) ->
                        reply.stream().chunk("data: " + answer(7) + "\n\n").end()),
        STREAM_OF_HTML("no response", (request, reply) -> reply.raw(body("text/event-stream", "<p>Login</p>"))),
        CODED(
                "the content coding 'br'",
                (request, reply) -> reply.raw(body("application/json\r\nContent-Encoding: br", "\u0001\u0002"))),
        CODED_STREAM(
                "the content coding 'gzip'",
                (request, reply) -> reply.stream("Content-Encoding: gzip").chunk("\u001f"));

        private final String told;

        @SuppressWarnings("ImmutableEnumChecker") // a function of its arguments
        private final ScriptedServer.Act act;

        Came(String told, ScriptedServer.Act act) {
            this.told = told;
            this.act = act;
        }
    }

    private static String body(String type, String text) {
        return "HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\nContent-Length: " + text.length() + "\r\n\r\n" + text;
    }

    @BeforeEach
    void open() throws IOException {
        server = ScriptedServer.start();
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s1"))
                .then((request, reply) -> reply.status(202));
        session = recorder.open(remote(server.uri()));
        assertThat(now(session.post(initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        Eventually.await(() -> server.gets().size() >= 1, () -> "that the listening stream is asked for");
    }

    @AfterEach
    void close() {
        server.close();
        session.close();
    }

    private CompletionStage<Outcome> send(ServerSession.Repeat repeat) {
        return session.call(call(1), repeat, NO_CONTEXT, sink);
    }

    private long calls() {
        return server.requests.stream()
                .filter(request -> request.body().contains("tools/call"))
                .count();
    }

    /** So the server answers each call; the ping by which a client asks whether its session is there it answers as it should. */
    private void always(Came came) {
        for (int i = 0; i < 8; i++) {
            server.then((request, reply) -> {
                if (request.body().contains("tools/call")) {
                    came.act.on(request, reply);
                } else {
                    Recorder.pong(request, reply);
                }
            });
        }
    }

    private static void assertUnknown(Outcome outcome, Came came) {
        assertThat(outcome).isInstanceOfSatisfying(Outcome.Unknown.class, unknown -> {
            assertThat(unknown.reason()).contains(came.told).doesNotContain("Login");
            assertThat(unknown.sessionGone()).isFalse();
        });
    }

    @ParameterizedTest
    @EnumSource
    void whatIsNoAnswerDoesNotSayThatTheRequestWasExecuted(Came came) {
        always(came);

        assertUnknown(now(send(NEVER)), came);
        assertThat(calls()).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource
    void envoyAiGateway2218_whatIsNoAnswerIsAskedForOnceMoreWhereThatIsHarmless(Came came) {
        always(came);

        assertUnknown(now(send(HARMLESS)), came);
        assertThat(calls()).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "\n", "\r\n\r\n"})
    void envoyAiGateway2218_anAnswerInJsonUnderTheTypeOfEventsIsTaken(String behind) {
        server.then((request, reply) -> reply.raw(
                body("text/event-stream", answer(1).replace(",", ",\n").replace("[]", "[ ]") + behind)));

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
        assertThat(sink.messages).hasSize(1);
    }

    @Test
    void openaiCodex37228_noRequestAsksForAContentCoding() {
        server.then((request, reply) -> reply.json(answer(1)));

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
        assertThat(server.requests)
                .hasSizeGreaterThan(3)
                .allSatisfy(
                        request -> assertThat(request.header("accept-encoding")).isEqualTo("identity"));
    }

    @Test
    void aRefusalThatHasACodingKeepsItsStatus() {
        server.then((request, reply) ->
                reply.raw("HTTP/1.1 413 X\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n\u0001\u0002"));

        assertThat(now(send(NEVER))).isInstanceOfSatisfying(Outcome.Refused.class, refused -> {
            assertThat(refused.status()).isEqualTo(413);
            assertThat(refused.body()).isEmpty();
        });
    }
}
