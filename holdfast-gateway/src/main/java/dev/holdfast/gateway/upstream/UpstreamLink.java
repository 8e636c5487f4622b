package dev.holdfast.gateway.upstream;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.ServerSession.Repeat;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.InboundMessage;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The way to one session at the upstream, which may still be opening. Each message takes the forwarded headers of its own request
 * along; one that has none, as when the journal is replayed, takes those of the latest that had. Safe for use by any thread.
 */
final class UpstreamLink {
    private final CompletableFuture<ServerSession> session = new CompletableFuture<>();
    private final EnvelopeReader envelopes;
    private volatile Object latest = ServerSession.NO_CONTEXT;

    UpstreamLink(EnvelopeReader envelopes) {
        this.envelopes = envelopes;
    }

    /** The session is open. */
    void opened(ServerSession open) {
        session.complete(open);
    }

    /** What goes along with a message. */
    Object context(InboundMessage message) {
        if (message.context() instanceof ForwardedHeaders given) {
            latest = given;
        }
        return latest;
    }

    /** Reads a message, which the edge has checked before. */
    Envelope parsed(byte[] message) {
        if (envelopes.read(message) instanceof EnvelopeReader.Single single) {
            return single.message();
        }
        throw new IllegalArgumentException("not one JSON-RPC message");
    }

    /** Sends a request, whose messages go to the sink. */
    CompletionStage<Outcome> call(Envelope request, Repeat repeat, Object context, MessageSink sink) {
        return session.thenCompose(open -> open.call(request, repeat, context, sink));
    }

    /** Sends a message that has no answer. */
    void post(byte[] message, Object context) {
        Envelope envelope = parsed(message);
        session.thenAccept(open -> {
            CompletionStage<Outcome> unused = open.post(envelope, context);
        });
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
