package dev.holdfast.client.held;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpener.Protocol;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.client.wire.HttpSender;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandler;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CurrentSessionTest {
    /** After so many failures nobody tries again within a second. */
    private static final int FAILURES = 6;

    private static final HttpSender SILENT = new HttpSender() {
        @Override
        public <T> CompletableFuture<?> send(HttpRequest request, BodyHandler<T> answer) {
            return new CompletableFuture<>();
        }
    };

    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final RemoteServer server =
            RemoteServer.at(URI.create("http://127.0.0.1:1/mcp"), SILENT, clock, Runnable::run);
    private final MessageSink application = message -> CompletableFuture.completedFuture(null);
    private final SessionSetup setup = new SessionSetup();
    private final CurrentSession current = new CurrentSession(
            server, Protocol.STREAMABLE_HTTP, setup, new ServerRequests(), application, SessionWatch.NONE);

    @AfterEach
    void stop() {
        clock.shutdownNow();
    }

    private static Envelope initialize() {
        byte[] body = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}".getBytes(UTF_8);
        return ((EnvelopeReader.Single) new EnvelopeReader().read(body)).message();
    }

    /** They are no failures of the session that is opened next. */
    @Test
    void failuresOfAReplacementCountUntilItIsOverThoughTheApplicationBeginsAnew() {
        setup.begin(initialize(), ServerSession.NO_CONTEXT);
        assertThat(current.replace(current.now().join())).isTrue();
        for (int i = 0; i < FAILURES; i++) {
            assertThat(current.lostAgain()).isPresent();
        }

        CompletionStage<?> unused = current.initialize(initialize(), ServerSession.NO_CONTEXT);

        assertThat(current.lostAgain().orElseThrow()).isGreaterThan(1_000);
    }
}
