package dev.holdfast.mcp;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;

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
        session.listeningStream(new SinkTransport(messages, listening::sessionId, listening::send));
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
        CallWork work = new CallWork();
        SinkTransport transport =
                new SinkTransport(messages, sink::sessionId, message -> work.send(() -> sink.send(message)));
        running.add(work);
        sink.onCancel(notification -> work.dispose());
        FatalErrors fatal = new FatalErrors(error -> {
            running.remove(work);
            try {
                died(request, sink, transport, error);
            } finally {
                // this interrupts the thread that tells of it, which is not to happen while it writes
                work.dispose();
            }
        });
        work.begin(fatal.of(() -> stream(parsed, transport)
                .contextWrite(context -> ThreadLocals.of(request.context(), context)
                        .put(
                                McpTransportContext.KEY,
                                HoldfastRequest.context(request.context(), sink.sessionId(), sink::disconnect)))
                .doFinally(signal -> {
                    fatal.over();
                    running.remove(work);
                })
                .subscribe(
                        nothing -> {},
                        failure -> failed(request, sink, transport, failure),
                        () -> ended(request, sink, transport))));
    }

    /** Deprecated in mcp-core 2.1.0, whose other way is not in 2.0.0; it comes to the same. */
    @SuppressWarnings("deprecation")
    private Mono<Void> stream(McpSchema.JSONRPCRequest request, SinkTransport transport) {
        return session.responseStream(request, transport);
    }

    /**
     * The SDK keeps the failures of handlers to itself and answers them. What it throws at us is what it meets before: params
     * that are not what the method takes.
     */
    private static void failed(InboundMessage request, CallSink sink, SinkTransport transport, Throwable failure) {
        if (MUTE.equals(failure.getMessage())) {
            sink.send(JsonRpc.MESSAGES.error(request.requiredId(), JsonRpc.INTERNAL_ERROR, "Internal error"));
            return;
        }
        boolean params = failure instanceof IllegalArgumentException
                || failure instanceof ClassCastException
                || failure instanceof NullPointerException;
        if (params) {
            log.debug("the params of {} could not be read", request.method(), failure);
        } else {
            log.error("request {} failed outside of its handler", request.method(), failure);
        }
        if (!transport.answered()) {
            sink.send(
                    params
                            ? JsonRpc.MESSAGES.error(
                                    request.requiredId(),
                                    JsonRpc.INVALID_PARAMS,
                                    "the params are not what " + request.method() + " takes")
                            : JsonRpc.MESSAGES.error(request.requiredId(), JsonRpc.INTERNAL_ERROR, NeutralErrors.TEXT));
        }
    }

    /** An error that the SDK does not hear of either. */
    private static void died(InboundMessage request, CallSink sink, SinkTransport transport, Error error) {
        log.error("the handler of {} ended with an error that is fatal to Reactor", request.method(), error);
        if (!transport.answered()) {
            sink.send(JsonRpc.MESSAGES.error(request.requiredId(), JsonRpc.INTERNAL_ERROR, NeutralErrors.TEXT));
        }
    }

    /** A handler that ends without a result would leave its client waiting for ever. */
    private static void ended(InboundMessage request, CallSink sink, SinkTransport transport) {
        if (!transport.answered()) {
            sink.send(JsonRpc.MESSAGES.error(
                    request.requiredId(), JsonRpc.INTERNAL_ERROR, "the handler ended without a result"));
        }
    }

    @Override
    public void notify(InboundMessage notification) {
        take(() -> session.accept(messages.read(notification.bytes(), McpSchema.JSONRPCNotification.class))
                .contextWrite(context -> ThreadLocals.of(notification.context(), context)
                        .put(
                                McpTransportContext.KEY,
                                HoldfastRequest.context(notification.context(), listening.sessionId(), retry -> {}))));
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
