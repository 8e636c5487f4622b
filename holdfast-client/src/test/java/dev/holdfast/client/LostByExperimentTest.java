package dev.holdfast.client;

import static dev.holdfast.client.Eventually.await;
import static dev.holdfast.client.Eventually.now;
import static dev.holdfast.client.Recorder.answer;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.envelope;
import static dev.holdfast.client.Recorder.initialize;
import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.initialized;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.held.HeldSession;
import dev.holdfast.json.Envelope;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers that have lost a session and say so in words of their own, and servers that refuse for another reason. */
@Timeout(60)
class LostByExperimentTest {
    private final Recorder recorder = new Recorder();
    private final AtomicInteger opened = new AtomicInteger();
    private ScriptedServer server;
    private HeldSession session;
    /** What is said to everything in the first session, once it is set. */
    private volatile ScriptedServer.Act lost = LostByExperimentTest::serve;
    /** What is said to a ping in the first session. */
    private volatile ScriptedServer.Act pinged = (request, reply) -> lost.on(request, reply);
    /** What is said to {@code initialize}. */
    private volatile ScriptedServer.Act opening = (request, reply) -> reply.json(
            initializeResult().replace("\"id\":0", "\"id\":" + id(request)),
            "Mcp-Session-Id: s" + opened.incrementAndGet());

    /** How a server says that it has lost a session. */
    enum Loss {
        UNAUTHORIZED(true, text(401, "Unauthorized: Session not found")),
        FORBIDDEN(true, text(403, "no")),
        NOT_FOUND(true, text(404, "")),
        GONE(true, text(410, "gone")),
        UNPROCESSABLE(true, text(422, "Unexpected message, expect initialize request")),
        BAD_REQUEST(true, text(400, "Bad Request: No valid session ID provided")),
        MOVED(true, (request, reply) -> reply.status(307, "Location: /login")),
        FAILED(false, text(500, "session not found")),
        SEE_LOGIN(false, (request, reply) -> reply.status(302, "Location: /login")),
        EMPTY(false, (request, reply) -> reply.status(200)),
        NO_CONTENT(false, (request, reply) -> reply.status(204)),
        ACCEPTED(false, (request, reply) -> reply.status(202)),
        LOGIN(
                false,
                (request, reply) ->
                        reply.raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nLogin")),
        EMPTY_STREAM(false, (request, reply) -> reply.stream().end()),
        ERROR_OF_NOBODY(false, (request, reply) -> reply.json(error("null"))),
        ERROR(false, (request, reply) -> reply.json(error(id(request)))),
        STREAMED_ERROR(
                false,
                (request, reply) -> reply.stream()
                        .chunk("data: " + error(id(request)) + "\n\n")
                        .end());

        /** Whether it says for certain that the request was not executed. */
        private final boolean notExecuted;

        @SuppressWarnings("ImmutableEnumChecker") // a function of its arguments
        private final ScriptedServer.Act act;

        Loss(boolean notExecuted, ScriptedServer.Act act) {
            this.notExecuted = notExecuted;
            this.act = act;
        }

        private boolean answers() {
            return this == ERROR || this == STREAMED_ERROR;
        }
    }

    private static String id(ScriptedServer.Request request) {
        return envelope(request.body()).id().map(id -> id.token()).orElse("null");
    }

    private static String error(String id) {
        return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"error\":{\"code\":-32001,\"message\":\"Session not found\"}}";
    }

    private static ScriptedServer.Act text(int status, String text) {
        return (request, reply) ->
                reply.raw("HTTP/1.1 " + status + " X\r\nContent-Type: text/plain\r\nWWW-Authenticate:"
                        + " Bearer scope=\"a\"\r\nContent-Length: " + text.length() + "\r\n\r\n" + text);
    }

    private static void serve(ScriptedServer.Request request, ScriptedServer.Reply reply) throws IOException {
        if (id(request).equals("null")) {
            reply.status(202);
        } else {
            reply.json(answer(0).replace("\"id\":0", "\"id\":" + id(request)));
        }
    }

    @BeforeEach
    void open() throws IOException {
        server = ScriptedServer.start();
        for (int i = 0; i < 400; i++) {
            server.then((request, reply) -> {
                if (request.body().contains("\"initialize\"")) {
                    opening.on(request, reply);
                } else if (!request.header("mcp-session-id").equals("s1")) {
                    serve(request, reply);
                } else if (request.body().contains("\"ping\"")) {
                    pinged.on(request, reply);
                } else {
                    lost.on(request, reply);
                }
            });
        }
        session = new HeldSession(
                remote(server.uri()), SessionOpener.Protocol.STREAMABLE_HTTP, recorder, SessionWatch.NONE);
        assertThat(now(session.send(initialize(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        assertThat(now(session.send(initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
    }

    @AfterEach
    void close() {
        session.close();
        server.close();
    }

    private CompletionStage<Outcome> send(Envelope message) {
        return session.send(message, NO_CONTEXT);
    }

    private static Envelope list(int id) {
        return envelope("{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"method\":\"tools/list\"}");
    }

    private long asked(String method) {
        return server.requests.stream()
                .filter(request -> request.body().contains("\"" + method + "\""))
                .count();
    }

    @ParameterizedTest
    @EnumSource
    void agentgateway3622_aCallThatMayBeSentAgainReachesTheSessionThatReplacesTheLostOne(Loss how) throws Exception {
        lost = how.act;

        assertThat(now(send(list(5)))).isEqualTo(new Outcome.Done());
        assertThat(now(send(call(6)))).isEqualTo(new Outcome.Done());

        assertThat(asked("initialize")).isEqualTo(2);
        assertThat(asked("tools/list")).isEqualTo(2);
        assertThat(asked("tools/call")).isEqualTo(1);
        assertThat(recorder.messages)
                .noneMatch(message ->
                        message.kind() == Envelope.Kind.ERROR && message.id().isPresent());
    }

    @ParameterizedTest
    @EnumSource
    void rustSdk689_aCallThatMayHaveRunIsNotSentAgainThoughItsSessionIsReplaced(Loss how) throws Exception {
        lost = how.act;

        Outcome outcome = now(send(call(5)));

        if (how.notExecuted || how.answers()) {
            assertThat(outcome).isEqualTo(new Outcome.Done());
        } else {
            assertThat(outcome).isInstanceOf(Outcome.Unknown.class);
        }
        assertThat(asked("tools/call")).isEqualTo(how.notExecuted ? 2 : 1);
        assertThat(now(send(call(6)))).isEqualTo(new Outcome.Done());
        assertThat(asked("initialize")).isEqualTo(2);
        assertThat(server.requests.get(server.requests.size() - 1).header("mcp-session-id"))
                .isEqualTo("s2");
    }

    /** Credentials that are not valid any more, a server that is broken: the session may be there when they are right again. */
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NOT_FOUND")
    void aServerThatOpensNoOtherSessionEitherIsBelieved(Loss how) {
        lost = how.act;
        opening = how.act;

        Outcome outcome = now(send(call(5)));

        assertThat(outcome).isNotInstanceOf(Outcome.SessionGone.class);
        if (how.notExecuted) {
            assertThat(outcome).isInstanceOfSatisfying(Outcome.Refused.class, refused -> {
                assertThat(refused.status()).isBetween(300, 499);
                if (refused.status() == 401) {
                    assertThat(refused.headers().firstValue("www-authenticate")).contains("Bearer scope=\"a\"");
                }
            });
        }
        assertThat(asked("initialize")).isEqualTo(2);
        assertThat(asked("tools/call")).isLessThanOrEqualTo(2);
        lost = LostByExperimentTest::serve;
        assertThat(now(send(call(6)))).isEqualTo(new Outcome.Done());
        assertThat(server.requests.get(server.requests.size() - 1).header("mcp-session-id"))
                .isEqualTo("s1");
    }

    /** Replacing the session would take the server's state with it, for each call that a user may not make. */
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NOT_FOUND")
    void aSessionInWhichAPingIsAnsweredStays(Loss how) {
        lost = how.act;
        pinged = LostByExperimentTest::serve;

        Outcome outcome = now(send(call(5)));

        assertThat(outcome).isNotInstanceOf(Outcome.SessionGone.class);
        assertThat(asked("initialize")).isEqualTo(1);
        lost = LostByExperimentTest::serve;
        assertThat(now(send(call(6)))).isEqualTo(new Outcome.Done());
    }

    @ParameterizedTest
    @ValueSource(ints = {-32602, -32601, -32603, -32002, -32042, 1})
    void anErrorThatIsClearlyAboutItsRequestAsksForNothing(int code) {
        lost = (request, reply) -> reply.json(error(id(request)).replace("-32001", "" + code));

        assertThat(now(send(call(5)))).isEqualTo(new Outcome.Done());

        assertThat(asked("ping")).isZero();
        assertThat(asked("initialize")).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource(names = {"UNAUTHORIZED", "BAD_REQUEST", "LOGIN", "ERROR"})
    void manyCallsShareTheExperiment(Loss how) {
        lost = how.act;
        opening = how.act;
        List<CompletionStage<Outcome>> calls = new ArrayList<>();
        AtomicInteger waiting = new AtomicInteger();
        // nobody is refused before all are there
        lost = (request, reply) -> {
            if (request.body().contains("tools/call")) {
                waiting.incrementAndGet();
                reply.once(() -> waiting.get() >= 20);
            }
            how.act.on(request, reply);
        };

        for (int i = 0; i < 20; i++) {
            calls.add(send(call(10 + i)));
        }
        calls.forEach(call -> assertThat(now(call)).isNotInstanceOf(Outcome.SessionGone.class));

        assertThat(asked("initialize")).isEqualTo(2);
        assertThat(asked("ping")).isEqualTo(1);
    }

    /** As our own gateway says it. What a server says of a session it has lost is believed where it says nothing of another one. */
    @Test
    void aRefusalInTheSessionsNameIsBelievedWhereTheExperimentFindsOutNothing() {
        lost = (request, reply) -> {
            String error = error(id(request));
            reply.raw("HTTP/1.1 404 X\r\nContent-Type: application/json\r\nContent-Length: " + error.length()
                    + "\r\n\r\n" + error);
        };
        AtomicInteger experiments = new AtomicInteger();
        ScriptedServer.Act opens = opening;
        opening = (request, reply) -> {
            if (experiments.incrementAndGet() == 1) {
                reply.rst();
            } else {
                opens.on(request, reply);
            }
        };

        assertThat(now(send(call(5)))).isEqualTo(new Outcome.Done());

        assertThat(recorder.messages)
                .noneMatch(message ->
                        message.kind() == Envelope.Kind.ERROR && message.id().isPresent());
        assertThat(asked("initialize")).isEqualTo(3);
    }

    /** A server that names a session before it refuses it, or says nothing more. */
    @ParameterizedTest
    @ValueSource(strings = {"ERROR", "NOTHING"})
    void aSessionThatTheExperimentHasNotOpenedWellIsEnded(String how) {
        lost = Loss.UNAUTHORIZED.act;
        opening = (request, reply) -> {
            if (how.equals("ERROR")) {
                reply.json(error(id(request)), "Mcp-Session-Id: s2");
            } else {
                reply.stream("Mcp-Session-Id: s2").end();
            }
        };

        assertThat(now(send(call(5)))).isInstanceOf(Outcome.Refused.class);

        await(
                () -> server.requests.stream()
                        .anyMatch(request -> request.method().equals("DELETE")
                                && request.header("mcp-session-id").equals("s2")),
                () -> "the end of s2");
    }
}
