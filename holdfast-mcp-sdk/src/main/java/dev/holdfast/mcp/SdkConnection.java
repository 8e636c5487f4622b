package dev.holdfast.mcp;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import io.modelcontextprotocol.spec.McpStreamableServerTransport;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** One session of the SDK's server, with all its streams going to the log. */
final class SdkConnection implements BackendConnection {
    private static final Logger log = LoggerFactory.getLogger(SdkConnection.class);

    /** What mcp-core 2.0.0 throws where a handler's exception says nothing. */
    private static final String MUTE = "message must not be null";

    private final McpStreamableServerSession session;
    private final String principal;
    private final ListeningSink listening;
    private final SdkMessages messages;
    private final Runnable onClose;
    private final Disposable.Composite running = Disposables.composite();

    SdkConnection(
            McpStreamableServerSession session,
            String principal,
            ListeningSink listening,
            SdkMessages messages,
            Runnable onClose) {
        this.session = session;
        this.principal = principal;
        this.listening = listening;
        this.messages = messages;
        this.onClose = onClose;
        session.listeningStream(new LogTransport());
    }

    McpStreamableServerSession session() {
        return session;
    }

    /** The session id that the client holds. */
    String clientSessionId() {
        return listening.sessionId();
    }

    /** Whose session it is, empty for nobody. */
    String principal() {
        return principal;
    }

    boolean attached() {
        return listening.attached();
    }

    @Override
    public void call(InboundMessage request, CallSink sink) {
        McpSchema.JSONRPCRequest parsed;
        try {
            parsed = messages.read(request.bytes(), McpSchema.JSONRPCRequest.class);
        } catch (IOException | RuntimeException e) {
            log.debug("a request could not be read: {}", e.toString());
            sink.send(JsonRpc.MESSAGES.error(
                    request.requiredId(),
                    JsonRpc.INVALID_REQUEST,
                    "the request is not valid JSON-RPC for this server"));
            return;
        }
        Running call = new Running(request, sink);
        running.add(call.work);
        sink.onCancel(notification -> call.work.dispose());
        call.work.begin(() -> stream(parsed, call)
                .contextWrite(context ->
                        HoldfastRequest.added(context, request.context(), sink.sessionId(), sink::disconnect))
                .doFinally(signal -> {
                    call.work.over();
                    running.remove(call.work);
                })
                .subscribe(nothing -> {}, call::failed, call::ended));
    }

    /** Deprecated in mcp-core 2.1.0, whose other way is not in 2.0.0; it comes to the same. */
    @SuppressWarnings("deprecation")
    private Mono<Void> stream(McpSchema.JSONRPCRequest request, Running transport) {
        return session.responseStream(request, transport);
    }

    /** What the SDK takes for a connection. Messages go into the session's log, whether a client is connected or not. */
    private class LogTransport implements McpStreamableServerTransport {
        /** Whether a response was sent. */
        volatile boolean answered;

        /** Appends a message to the listening stream. */
        CompletionStage<Void> append(OutboundMessage message) {
            return listening.send(message);
        }

        @Override
        public Mono<Void> sendMessage(McpSchema.JSONRPCMessage message, @Nullable String messageId) {
            return sendMessage(message);
        }

        @Override
        public Mono<Void> sendMessage(McpSchema.JSONRPCMessage message) {
            return Mono.defer(() -> {
                OutboundMessage outbound = messages.outbound(message, SdkConnection.this::clientSessionId);
                CompletionStage<Void> commit = append(outbound);
                if (EventKind.answers(outbound.kind())) {
                    // nobody sends anything after it, and if it cannot be stored, the engine tells the client
                    answered = true;
                    return Mono.empty();
                }
                return committed(commit);
            });
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

    /** Moves the sender off the store's thread, on which the message was committed: the sender may block. */
    static Mono<Void> committed(CompletionStage<Void> commit) {
        Mono<Void> sent = Mono.fromCompletionStage(commit);
        return commit.toCompletableFuture().isDone() ? sent : sent.publishOn(Schedulers.boundedElastic());
    }

    /** A call, and how it ends. */
    private final class Running extends LogTransport {
        private final InboundMessage request;
        private final CallSink sink;
        private final CallWork work = new CallWork(this::died);

        private Running(InboundMessage request, CallSink sink) {
            this.request = request;
            this.sink = sink;
        }

        @Override
        CompletionStage<Void> append(OutboundMessage message) {
            return work.send(() -> sink.send(message));
        }

        private void answer(int code, String message) {
            if (!answered) {
                sink.send(JsonRpc.MESSAGES.error(request.requiredId(), code, message));
            }
        }

        /**
         * The SDK keeps the failures of handlers to itself and answers them. What it throws at us is what it meets before: params
         * that are not what the method takes.
         */
        private void failed(Throwable failure) {
            if (MUTE.equals(failure.getMessage())) {
                sink.send(JsonRpc.MESSAGES.error(request.requiredId(), JsonRpc.INTERNAL_ERROR, "Internal error"));
            } else if (failure instanceof IllegalArgumentException
                    || failure instanceof ClassCastException
                    || failure instanceof NullPointerException) {
                log.debug("the params of {} could not be read", request.method(), failure);
                answer(JsonRpc.INVALID_PARAMS, "the params are not what " + request.method() + " takes");
            } else {
                log.error("request {} failed outside of its handler", request.method(), failure);
                answer(JsonRpc.INTERNAL_ERROR, NeutralErrors.TEXT);
            }
        }

        /** An error that the SDK does not hear of either. */
        private void died(Error error) {
            running.remove(work);
            try {
                log.error("the handler of {} ended with an error that is fatal to Reactor", request.method(), error);
                answer(JsonRpc.INTERNAL_ERROR, NeutralErrors.TEXT);
            } finally {
                // this interrupts the thread that tells of it, which is not to happen while it writes
                work.dispose();
            }
        }

        /** A handler that ends without a result would leave its client waiting for ever. */
        private void ended() {
            answer(JsonRpc.INTERNAL_ERROR, "the handler ended without a result");
        }
    }

    @Override
    public void notify(InboundMessage notification) {
        take(() -> session.accept(messages.read(notification.bytes(), McpSchema.JSONRPCNotification.class))
                .contextWrite(context ->
                        HoldfastRequest.added(context, notification.context(), listening.sessionId(), retry -> {})));
    }

    @Override
    public void answer(InboundMessage response) {
        take(() -> session.accept(read(response)));
    }

    /** An answer of the client, or an error in its place: whoever has asked would wait for it. */
    private McpSchema.JSONRPCResponse read(InboundMessage response) throws IOException {
        try {
            return messages.read(response.bytes(), McpSchema.JSONRPCResponse.class);
        } catch (IOException | RuntimeException e) {
            log.debug("an answer could not be read: {}", e.toString());
            byte[] id = response.requiredId().token().getBytes(UTF_8);
            return SdkMessages.error(
                    messages.read(id, Object.class),
                    new McpSchema.JSONRPCResponse.JSONRPCError(
                            JsonRpc.INTERNAL_ERROR, "the client's answer cannot be read", null));
        }
    }

    private static void take(Callable<Mono<Void>> taking) {
        Mono.defer(() -> {
                    try {
                        return taking.call();
                    } catch (Exception e) {
                        return Mono.error(e);
                    }
                })
                .subscribe(nothing -> {}, failure -> log.debug("a message was not taken: {}", failure.toString()));
    }

    @Override
    public CompletionStage<Void> close() {
        onClose.run();
        running.dispose();
        return session.closeGracefully().toFuture();
    }
}
