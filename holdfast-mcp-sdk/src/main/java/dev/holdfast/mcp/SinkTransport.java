package dev.holdfast.mcp;

import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpStreamableServerTransport;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** What the SDK takes for a connection. Messages go into the session's log, whether a client is connected or not. */
final class SinkTransport implements McpStreamableServerTransport {
    /** A large message is there several times while it is written as JSON: one at a time. */
    private static final ReentrantLock LARGE = new ReentrantLock();

    private final SdkMessages messages;
    private final Supplier<String> sessionId;
    private final Function<OutboundMessage, CompletionStage<Void>> sink;
    private volatile boolean answered;

    SinkTransport(
            SdkMessages messages, Supplier<String> sessionId, Function<OutboundMessage, CompletionStage<Void>> sink) {
        this.messages = messages;
        this.sessionId = sessionId;
        this.sink = sink;
    }

    /** Whether a response was sent. */
    boolean answered() {
        return answered;
    }

    @Override
    public Mono<Void> sendMessage(McpSchema.JSONRPCMessage message, @Nullable String messageId) {
        return sendMessage(message);
    }

    @Override
    public Mono<Void> sendMessage(McpSchema.JSONRPCMessage message) {
        return Mono.defer(() -> {
            OutboundMessage outbound =
                    SdkMessages.isLarge(message) ? large(message) : messages.outbound(message, sessionId);
            CompletionStage<Void> commit = sink.apply(outbound);
            if (EventKind.answers(outbound.kind())) {
                // nobody sends anything after it, and if it cannot be stored, the engine tells the client
                answered = true;
                return Mono.empty();
            }
            return committed(commit);
        });
    }

    private OutboundMessage large(McpSchema.JSONRPCMessage message) {
        LARGE.lock();
        try {
            return messages.outbound(message, sessionId);
        } finally {
            LARGE.unlock();
        }
    }

    /** Moves the sender off the store's thread, on which the message was committed: the sender may block. */
    static Mono<Void> committed(CompletionStage<Void> commit) {
        Mono<Void> sent = Mono.fromCompletionStage(commit);
        return commit.toCompletableFuture().isDone() ? sent : sent.publishOn(Schedulers.boundedElastic());
    }

    @Override
    public <T> T unmarshalFrom(Object data, TypeRef<T> type) {
        return messages.mapper().convertValue(data, type);
    }

    @Override
    public Mono<Void> closeGracefully() {
        return Mono.empty();
    }
}
