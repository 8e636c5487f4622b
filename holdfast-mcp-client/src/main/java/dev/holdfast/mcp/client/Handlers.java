package dev.holdfast.mcp.client;

import dev.holdfast.json.Envelope;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpTransportException;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;

/** Who takes the messages of the server and hears of failures: nobody, until the SDK's client has said it. Thread-safe. */
final class Handlers {
    private static final Logger log = LoggerFactory.getLogger(HoldfastClientTransport.class);

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

    /** Tells a failure. A handler that fails at it has failed to hear of it, and nothing else. */
    void failed(Throwable failure) {
        try {
            failures.accept(failure);
        } catch (RuntimeException e) {
            log.error("the handler of exceptions failed at {}", failure.toString(), e);
        }
    }

    /** Hands a message over; completes when it was handled, also where that has failed. */
    CompletionStage<Void> received(Envelope envelope) {
        return Mono.justOrEmpty(read(envelope))
                .flatMap(message -> messages.apply(Mono.just(message)))
                .doOnError(this::failed)
                .onErrorComplete()
                .then()
                .toFuture();
    }

    /** The message; in the place of an answer that cannot be read an error, for its request would wait until its timeout. */
    private Optional<JSONRPCMessage> read(Envelope envelope) {
        try {
            return Optional.of(codec.read(envelope));
        } catch (McpTransportException e) {
            failed(e);
            boolean answer = envelope.kind() == Envelope.Kind.RESPONSE || envelope.kind() == Envelope.Kind.ERROR;
            return answer && envelope.id().isPresent()
                    ? Optional.of(codec.error(envelope, "the server's answer cannot be read"))
                    : Optional.empty();
        }
    }
}
