package dev.holdfast.gateway.upstream;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RequestCustomizer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.ServerSession.Repeat;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.InboundMessage;
import java.net.URI;
import java.net.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/**
 * The way to one session at the upstream, which may still be opening. Each message takes the forwarded headers of its own request
 * along; what has none takes those of the latest that had: the replay of the journal, GET and DELETE. Messages may overtake each
 * other on their connections, but none overtakes {@code notifications/initialized}. Safe for use by any thread.
 */
final class UpstreamLink implements RequestCustomizer {
    private static final int DEPTH = 1000;
    private static final EnvelopeReader ENVELOPES = new EnvelopeReader(DEPTH, EnvelopeReader.DEFAULT_MAX_BATCH);
    private static final String INITIALIZED = "notifications/initialized";
    /** How long an upstream may leave {@code notifications/initialized} without an answer, before it gets what follows. */
    private static final long INTRODUCTION_SECONDS = 5;

    private final CompletableFuture<ServerSession> session = new CompletableFuture<>();
    private volatile CompletableFuture<ServerSession> introduced = session;
    private volatile Object latest = ServerSession.NO_CONTEXT;

    /** The session is open. */
    void opened(ServerSession open) {
        session.complete(open);
    }

    @Override
    public CompletionStage<HttpRequest.Builder> customize(
            HttpRequest.Builder request, String method, URI uri, Optional<byte[]> body, Object context) {
        Object given = method.equals("POST") ? context : latest;
        return CompletableFuture.completedFuture(
                given instanceof ForwardedHeaders headers ? headers.addTo(request) : request);
    }

    /** What goes along with a message. */
    Object context(InboundMessage message) {
        if (message.context() instanceof ForwardedHeaders given) {
            latest = given;
        }
        return latest;
    }

    /** Reads a message, which the edge has checked before. */
    static Envelope parsed(byte[] message) {
        if (ENVELOPES.read(message) instanceof EnvelopeReader.Single single) {
            return single.message();
        }
        throw new IllegalArgumentException("not one JSON-RPC message");
    }

    /** Sends a request, whose messages go to the sink. */
    CompletionStage<Outcome> call(Envelope request, Repeat repeat, Object context, MessageSink sink) {
        return introduced.thenCompose(open -> open.call(request, repeat, context, sink));
    }

    /** Sends a message that has no answer. */
    void post(byte[] message, Object context) {
        Envelope envelope = parsed(message);
        CompletableFuture<Outcome> sent = introduced.thenCompose(open -> open.post(envelope, context));
        if (envelope.method().equals(INITIALIZED)) {
            introduced = sent.<Object>thenApply(outcome -> outcome)
                    .completeOnTimeout(INITIALIZED, INTRODUCTION_SECONDS, TimeUnit.SECONDS)
                    .thenCompose(answered -> session);
        }
    }

    /** The same with the latest context. */
    void post(byte[] message) {
        post(message, latest);
    }

    /** Ends the session at the upstream. */
    CompletionStage<Void> close() {
        return session.thenCompose(ServerSession::close);
    }
}
