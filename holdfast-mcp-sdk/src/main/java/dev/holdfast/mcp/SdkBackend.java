package dev.holdfast.mcp;

import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import io.modelcontextprotocol.util.KeepAliveScheduler;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;

/** The SDK's server, which makes a session of its own for each connection. */
final class SdkBackend implements Backend {
    private static final Logger log = LoggerFactory.getLogger(SdkBackend.class);

    /** The body, the string that most of it may be, and that string twice more while it is read. */
    private static final int COPIES_OF_TEXT = 4;

    /**
     * The SDK makes a tree of maps, lists and values of each request, and another one of its params: measured with Jackson 3, between 10
     * and 104 bytes for each token, the most in objects of few members.
     */
    private static final int BYTES_OF_TOKEN = 104;

    private final SdkMessages messages;
    private final boolean immediate;
    private final Map<String, SdkConnection> connections = new ConcurrentHashMap<>();
    /** By the id that the client holds, where that is known and another one. */
    private final Map<String, SdkConnection> restored = new ConcurrentHashMap<>();

    private volatile McpStreamableServerSession.@Nullable Factory factory;

    /**
     * @param immediate whether the server was told to execute immediately
     */
    SdkBackend(SdkMessages messages, boolean immediate) {
        this.messages = messages;
        this.immediate = immediate;
    }

    void factory(McpStreamableServerSession.Factory value) {
        factory = value;
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        McpStreamableServerSession.Factory sessions = factory;
        if (sessions == null) {
            String cause = "no server is set up behind this transport";
            return CompletableFuture.completedFuture(new Unreachable(
                    JsonRpc.MESSAGES.error(request.initialize().requiredId(), JsonRpc.INTERNAL_ERROR, cause), cause));
        }
        McpSchema.JSONRPCRequest envelope;
        McpSchema.InitializeRequest initialize;
        try {
            envelope = messages.read(request.initialize().bytes(), McpSchema.JSONRPCRequest.class);
            initialize = messages.mapper().convertValue(envelope.params(), McpSchema.InitializeRequest.class);
        } catch (IOException | RuntimeException e) {
            log.debug("initialize could not be read: {}", e.toString());
            return refused(request, "initialize needs protocolVersion, capabilities, clientInfo");
        }
        if (initialize == null) {
            return refused(request, "initialize needs params");
        }
        McpStreamableServerSession.McpStreamableServerSessionInit init = sessions.startSession(initialize);
        McpStreamableServerSession session = init.session();
        SdkConnection connection = new SdkConnection(
                session, request.principal(), sink, messages, () -> closed(session.getId(), sink.sessionId()));
        return init.initResult()
                .map(result -> opened(connection, envelope, result))
                .toFuture()
                .handle((outcome, failure) -> {
                    if (outcome != null) {
                        connections.put(session.getId(), connection);
                        if (!sink.sessionId().isEmpty()) {
                            restored.put(sink.sessionId(), connection);
                        }
                        return outcome;
                    }
                    connection.close();
                    log.error("a session could not be initialized", failure);
                    return new Refused(messages.failure(
                            request.initialize().requiredId(),
                            failure == null ? new IllegalStateException("no result") : failure,
                            "the server could not initialize the session",
                            session.getId()));
                });
    }

    @Override
    public long requestMemory(long bytes, long tokens) {
        return bytes * COPIES_OF_TEXT + tokens * BYTES_OF_TOKEN;
    }

    @Override
    public boolean executesImmediately() {
        return immediate;
    }

    private Outcome opened(
            SdkConnection connection, McpSchema.JSONRPCRequest request, McpSchema.InitializeResult result) {
        OutboundMessage response =
                messages.outbound(SdkMessages.result(request.id(), result), connection::clientSessionId);
        return new Opened(
                connection,
                new OutboundMessage(EventKind.RESPONSE, response.id(), response.bytes()),
                result.protocolVersion(),
                Optional.of(connection.session().getId()));
    }

    private static CompletionStage<Outcome> refused(OpenRequest request, String message) {
        return CompletableFuture.completedFuture(new Refused(
                JsonRpc.MESSAGES.error(request.initialize().requiredId(), JsonRpc.INVALID_PARAMS, message)));
    }

    /** Pings every client that listens, again and again once it is started. */
    KeepAliveScheduler keepAlive(Duration interval) {
        return KeepAliveScheduler.builder(() -> Flux.fromIterable(connections.values())
                        .filter(SdkConnection::attached)
                        .map(SdkConnection::session))
                .initialDelay(interval)
                .interval(interval)
                .build();
    }

    private void closed(String inner, String sessionId) {
        SdkConnection connection = connections.remove(inner);
        if (connection != null) {
            restored.remove(sessionId, connection);
        }
    }

    /** The connection of a session, by the SDK's id or by the one that the client holds. */
    Optional<SdkConnection> connection(String sessionId) {
        return Optional.ofNullable(connections.get(sessionId)).or(() -> Optional.ofNullable(restored.get(sessionId)));
    }
}
