package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpSchema.ClientCapabilities;
import io.modelcontextprotocol.spec.McpSchema.Implementation;
import io.modelcontextprotocol.spec.McpSchema.InitializeRequest;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCNotification;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCRequest;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import io.modelcontextprotocol.spec.McpStreamableServerTransport;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A transport without a network: keeps what the demo server sends as the JSON objects that a client would see, apart
 * for the stream of each call and for the listening streams.
 */
final class DemoTestTransport implements McpStreamableServerTransportProvider {
    final List<Map<String, Object>> listeningStream = new CopyOnWriteArrayList<>();
    private final Mono<Void> delivery;
    private McpStreamableServerSession.@Nullable Factory sessions;

    DemoTestTransport(Mono<Void> delivery) {
        this.delivery = delivery;
    }

    /** A transport that takes every notification to a listening stream. */
    static DemoTestTransport open() {
        return new DemoTestTransport(Mono.empty());
    }

    /** Opens a session of a client that answers the server's questions with {@code answer}. */
    Client connect(ClientCapabilities capabilities, Function<Map<String, Object>, Object> answer) {
        InitializeRequest request = InitializeRequest.builder(
                        "2025-11-25",
                        capabilities,
                        Implementation.builder("test", "1").build())
                .build();
        return new Client(Objects.requireNonNull(sessions).startSession(request).session(), answer);
    }

    /** Opens a session of a client that answers nothing. */
    Client connect() {
        return connect(ClientCapabilities.builder().build(), question -> Map.of());
    }

    @Override
    public void setSessionFactory(McpStreamableServerSession.Factory sessionFactory) {
        sessions = sessionFactory;
    }

    @Override
    public Mono<Void> notifyClients(String method, Object params) {
        return Mono.empty();
    }

    @Override
    public Mono<Void> notifyClient(String sessionId, String method, Object params) {
        return delivery.then(
                Mono.fromRunnable(() -> listeningStream.add(json(new JSONRPCNotification(method, params)))));
    }

    @Override
    public Mono<Void> closeGracefully() {
        return Mono.empty();
    }

    private static Map<String, Object> json(Object message) {
        try {
            McpJsonMapper mapper = McpJsonDefaults.getMapper();
            return mapper.readValue(mapper.writeValueAsString(message), new TypeRef<>() {});
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A client and its session. */
    static final class Client {
        private static final Duration PATIENCE = Duration.ofSeconds(10);

        private final McpStreamableServerSession session;
        private final Function<Map<String, Object>, Object> answer;

        private Client(McpStreamableServerSession session, Function<Map<String, Object>, Object> answer) {
            this.session = session;
            this.answer = answer;
        }

        /** Calls a tool and returns all messages of the call's stream, the response last. */
        List<Map<String, Object>> stream(String tool, Map<String, Object> arguments, Map<String, Object> meta) {
            return request("tools/call", Map.of("name", tool, "arguments", arguments, "_meta", meta));
        }

        /** Calls a tool and returns its answer. */
        DemoTestAnswer call(String tool, Map<String, Object> arguments) {
            return DemoTestAnswer.of(stream(tool, arguments, Map.of()));
        }

        /** Sends any request and returns all messages of its stream, the response last. */
        List<Map<String, Object>> request(String method, Map<String, Object> params) {
            CallStream stream = new CallStream(this);
            session.responseStream(stream)
                    .handle(new JSONRPCRequest(method, 1, params))
                    .block(PATIENCE);
            return stream.sent;
        }
    }

    private record CallStream(Client client, List<Map<String, Object>> sent) implements McpStreamableServerTransport {
        CallStream(Client client) {
            this(client, new CopyOnWriteArrayList<>());
        }

        @Override
        public Mono<Void> sendMessage(JSONRPCMessage message, String messageId) {
            return sendMessage(message);
        }

        @Override
        public Mono<Void> sendMessage(JSONRPCMessage message) {
            return Mono.fromRunnable(() -> sent.add(json(message))).then(Mono.defer(() -> answered(message)));
        }

        private Mono<Void> answered(JSONRPCMessage message) {
            return message instanceof JSONRPCRequest question
                    ? client.session.accept(JSONRPCResponse.result(question.id(), client.answer.apply(json(question))))
                    : Mono.empty();
        }

        @Override
        public <T> T unmarshalFrom(Object data, TypeRef<T> typeRef) {
            return McpJsonDefaults.getMapper().convertValue(data, typeRef);
        }

        @Override
        public Mono<Void> closeGracefully() {
            return Mono.empty();
        }
    }
}
