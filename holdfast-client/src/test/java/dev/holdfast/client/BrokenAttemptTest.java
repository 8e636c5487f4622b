package dev.holdfast.client;

import static dev.holdfast.client.Eventually.now;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static dev.holdfast.client.ServerSession.Repeat.HARMLESS;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A harmless call whose first attempt broke behind its request, and which the application lets not be sent again. */
@Timeout(30)
class BrokenAttemptTest {
    private static final String CALL = "tools/call";

    private final Recorder recorder = new Recorder();
    private ScriptedServer server;

    @BeforeEach
    void start() throws IOException {
        server = ScriptedServer.start();
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s1"))
                .then((request, reply) -> reply.rst())
                .then((request, reply) -> reply.status(401));
    }

    @AfterEach
    void close() {
        server.close();
    }

    private Outcome called(Requests.Customizer customizer) {
        ServerSession session = recorder.open(remote(server.uri())
                .withRequests(new Requests(
                        HttpRequest.newBuilder(),
                        customizer,
                        (request, status, headers, times, context) ->
                                CompletableFuture.failedFuture(new IOException("no credentials")),
                        Optional.empty())));
        return now(session.call(call(1), HARMLESS, CALL, recorder));
    }

    private static void assertUnknown(Outcome outcome, String cause) {
        assertThat(outcome)
                .isInstanceOfSatisfying(
                        Outcome.Unknown.class,
                        unknown -> assertThat(unknown.cause()).hasStackTraceContaining(cause));
    }

    @Test
    void mayHaveBeenExecutedThoughTheNextRequestCannotBeMade() {
        AtomicInteger made = new AtomicInteger();

        assertUnknown(
                called((request, method, uri, body, context) -> context == CALL && made.getAndIncrement() > 0
                        ? CompletableFuture.failedFuture(new IOException("no request"))
                        : Requests.Customizer.NONE.customize(request, method, uri, body, NO_CONTEXT)),
                "no request");
    }

    @Test
    void mayHaveBeenExecutedThoughNobodyGivesCredentialsForTheNextRequest() {
        assertUnknown(called(Requests.Customizer.NONE), "no credentials");
    }
}
