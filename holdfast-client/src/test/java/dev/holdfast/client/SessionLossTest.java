package dev.holdfast.client;

import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.initialize;
import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.now;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static dev.holdfast.client.ServerSession.Repeat.NEVER;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of the messages of a session that its server loses. */
@Timeout(30)
class SessionLossTest {
    private static final String LONG_PAUSE = "Retry-After: 60";

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

    /** A session whose only stream goes on with this. */
    private ServerSession overHttpSse(RemoteServer remote, ScriptedServer.Act rest) {
        server.onGet((request, reply) -> {
                    reply.stream()
                            .chunk("retry: 1\nevent: endpoint\ndata: /message\n\n")
                            .once(() -> server.requests.size() == 2)
                            .chunk("data: " + initializeResult() + "\n\n");
                    rest.on(request, reply);
                })
                .then((request, reply) -> reply.status(202));
        SessionOpening.Result result = now(new SessionOpening(remote, recorder, recorder)
                .open(
                        SessionOpening.Protocol.HTTP_SSE,
                        initialize(),
                        NO_CONTEXT,
                        message -> CompletableFuture.completedFuture(null)));
        return ((SessionOpening.Opened) result).session();
    }

    private CompletionStage<Outcome> send(ServerSession session) {
        return session.call(call(1), NEVER, NO_CONTEXT, sink);
    }

    @ParameterizedTest
    @ValueSource(ints = {429, 503})
    void callThatWasRefusedForNowWasNotSentWhenItsOnlyStreamEnds(int status) {
        server.then((request, reply) -> reply.status(202));
        ServerSession session = overHttpSse(
                remote(server.uri()),
                (request, reply) ->
                        reply.once(() -> recorder.news.contains("reconnecting")).rst());
        server.then((request, reply) -> reply.status(status, LONG_PAUSE));

        assertThat(now(session.post(Recorder.initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        assertThat(now(send(session))).isEqualTo(new Outcome.SessionGone());
        assertThat(recorder.news).contains("gone");
    }

    @Test
    void callThatWaitsForCredentialsWasNotSentWhenItsOnlyStreamEnds() {
        CompletableFuture<Boolean> credentials = new CompletableFuture<>();
        AtomicBoolean asked = new AtomicBoolean();
        ServerSession session = overHttpSse(
                remote(server.uri())
                        .withRequests(new Requests(
                                HttpRequest.newBuilder(),
                                RequestCustomizer.NONE,
                                (request, status, headers, times, context) -> {
                                    asked.set(true);
                                    return credentials;
                                },
                                Optional.empty())),
                (request, reply) -> reply.once(asked::get).rst());
        server.then((request, reply) -> reply.status(401));

        assertThat(now(send(session))).isEqualTo(new Outcome.SessionGone());
        credentials.complete(true);
        assertThat(server.requests).hasSize(3);
    }
}
