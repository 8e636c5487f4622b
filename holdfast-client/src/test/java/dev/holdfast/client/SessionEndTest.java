package dev.holdfast.client;

import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.remote;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpRequest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The end of a session, of which its server is told if that takes no more than 5 s. */
@Timeout(60)
@Execution(ExecutionMode.CONCURRENT)
class SessionEndTest {
    private final Recorder recorder = new Recorder();
    private final CompletableFuture<Void> asked = new CompletableFuture<>();
    private final CompletableFuture<HttpRequest.Builder> token = new CompletableFuture<>();
    private ScriptedServer server;

    @BeforeEach
    void start() throws IOException {
        server = ScriptedServer.start();
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s1"))
                .onGet((request, reply) -> reply.status(405));
    }

    @AfterEach
    void close() {
        server.close();
    }

    /** A session for whose end a token is waited for. */
    private ServerSession session() {
        return recorder.open(remote(server.uri())
                .withRequests(Requests.PLAIN.withCustomizer((request, method, uri, body, context) -> {
                    if (!method.equals("DELETE")) {
                        return CompletableFuture.completedFuture(request);
                    }
                    asked.complete(null);
                    return token.thenApply(given -> request);
                })));
    }

    @Test
    void nobodyWaitsForCredentialsThatDoNotCome() throws Exception {
        CompletionStage<Void> closed = session().close();
        asked.get(20, TimeUnit.SECONDS);

        closed.toCompletableFuture().get(20, TimeUnit.SECONDS);

        token.complete(null);
        assertThat(server.requests).extracting(ScriptedServer.Request::method).doesNotContain("DELETE");
    }

    @Test
    void credentialsThatComeInTimeAreUsed() throws Exception {
        server.then((request, reply) -> reply.status(200));
        CompletionStage<Void> closed = session().close();
        asked.get(20, TimeUnit.SECONDS);
        assertThat(closed.toCompletableFuture()).isNotDone();

        token.complete(null);

        closed.toCompletableFuture().get(20, TimeUnit.SECONDS);
        assertThat(server.requests).extracting(ScriptedServer.Request::method).contains("DELETE");
    }
}
