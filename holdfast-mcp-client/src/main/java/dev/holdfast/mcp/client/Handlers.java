package dev.holdfast.mcp.client;

import dev.holdfast.json.Envelope;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpTransportException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import reactor.core.publisher.Mono;

/** Who takes the messages of the server and hears of failures: nobody, until the SDK's client has said it. Thread-safe. */
final class Handlers {
    private final MessageCodec codec;
    private volatile Function<Mono<JSONRPCMessage>, Mono<JSONRPCMessage>> messages = Handlers::notConnected;
    private volatile Consumer<Throwable> failures = failure -> {};

    Handlers(MessageCodec codec) {
        this.codec = codec;
    }

    void onMessages(Function<Mono<JSONRPCMessage>, Mono<JSONRPCMessage>> handler) {
        messages = handler;
    }

    void onFailures(Consumer<Throwable> handler) {
        failures = handler;
    }

    private static Mono<JSONRPCMessage> notConnected(Mono<JSONRPCMessage> message) {
        return Mono.error(new IllegalStateException("a message came before connect was called"));
    }

    /** Tells a failure. */
    void failed(Throwable failure) {
        failures.accept(failure);
    }

    /** Hands a message over; completes when it was handled, also where that has failed. */
    CompletionStage<Void> received(Envelope envelope) {
        JSONRPCMessage message;
        try {
            message = codec.read(envelope);
        } catch (McpTransportException e) {
            failed(e);
            boolean answer = envelope.kind() == Envelope.Kind.RESPONSE || envelope.kind() == Envelope.Kind.ERROR;
            if (!answer || envelope.id().isEmpty()) {
                return CompletableFuture.completedFuture(null);
            }
            // else its request would wait until its timeout
            message = codec.error(envelope, "the server's answer cannot be read");
        }
        return messages.apply(Mono.just(message))
                .doOnError(failures)
                .onErrorComplete()
                .then()
                .toFuture();
    }
}
