package dev.holdfast.client.held;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpening.Protocol;
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

class PlacesTest {
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
    private final Introduction introduction = new Introduction();
    private final Questions questions = new Questions();
    private final Replacement replacement =
            new Replacement(introduction, new Settings(), questions, application, HeldWatch.NONE, server);
    private final Places places = new Places(
            server, Protocol.STREAMABLE_HTTP, replacement, introduction, questions, application, HeldWatch.NONE);

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
        introduction.said(initialize(), ServerSession.NO_CONTEXT);
        assertThat(places.replace(places.now().join())).isTrue();
        for (int i = 0; i < FAILURES; i++) {
            assertThat(replacement.lostAgain()).isPresent();
        }

        CompletionStage<?> unused = places.initialize(initialize(), ServerSession.NO_CONTEXT);

        assertThat(replacement.lostAgain().orElseThrow()).isGreaterThan(1_000);
    }
}
