package dev.holdfast.client;

import static dev.holdfast.client.Eventually.now;
import static dev.holdfast.client.Recorder.answer;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static dev.holdfast.client.ServerSession.Repeat.NEVER;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpRequest;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the application does for a call ends with an error of its JVM, such as a missing class: the call ends. */
@Timeout(30)
class ThrownErrorTest {
    private final Recorder recorder = new Recorder();
    private ScriptedServer server;

    @BeforeEach
    void start() throws IOException {
        server = ScriptedServer.start();
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s1"));
    }

    @AfterEach
    void close() {
        server.close();
    }

    /** A session whose listening stream is refused. */
    private ServerSession open(Requests.Customizer customizer, Requests.AuthorizationHandler authorization) {
        ServerSession session = recorder.open(remote(server.uri())
                .withRequests(new Requests(HttpRequest.newBuilder(), customizer, authorization, Optional.empty())));
        server.awaitRequests(2);
        return session;
    }

    private static Outcome untaken(ServerSession session) {
        return now(session.call(call(1), NEVER, NO_CONTEXT, message -> {
            throw new NoClassDefFoundError("by the test");
        }));
    }

    @Test
    void ofTheTakerOfABodyEndsTheCall() {
        ServerSession session = open(Requests.Customizer.NONE, Requests.AuthorizationHandler.NONE);
        server.then((request, reply) -> reply.json(answer(1)));

        assertThat(untaken(session)).isInstanceOf(Outcome.Unreadable.class);
    }

    @Test
    void ofTheTakerOfAStreamEndsTheCall() {
        ServerSession session = open(Requests.Customizer.NONE, Requests.AuthorizationHandler.NONE);
        server.then((request, reply) -> reply.stream().chunk("data: " + answer(1) + "\n\n"));

        assertThat(untaken(session)).isInstanceOf(Outcome.Unknown.class);
    }

    @Test
    void ofTheCustomizerEndsTheCall() {
        ServerSession session = open(
                (request, method, uri, body, context) -> {
                    if (context != NO_CONTEXT) {
                        throw new NoClassDefFoundError("by the test");
                    }
                    return Requests.Customizer.NONE.customize(request, method, uri, body, context);
                },
                Requests.AuthorizationHandler.NONE);

        assertThat(now(session.call(call(1), NEVER, "another", recorder))).isInstanceOf(Outcome.NotSent.class);
    }

    @Test
    void ofTheAuthorizationEndsTheCall() {
        ServerSession session = open(Requests.Customizer.NONE, (request, status, headers, times, context) -> {
            throw new NoClassDefFoundError("by the test");
        });
        server.then((request, reply) -> reply.status(401));

        assertThat(now(session.call(call(1), NEVER, NO_CONTEXT, recorder))).isInstanceOf(Outcome.NotSent.class);
    }
}
