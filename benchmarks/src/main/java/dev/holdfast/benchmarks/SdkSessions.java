package dev.holdfast.benchmarks;

import io.modelcontextprotocol.spec.McpSchema.ClientCapabilities;
import io.modelcontextprotocol.spec.McpSchema.Implementation;
import io.modelcontextprotocol.spec.McpSchema.InitializeRequest;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.ProtocolVersions;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** No transport at all: holds sessions of the SDK's server and nothing else, to see what they alone weigh. */
final class SdkSessions implements McpStreamableServerTransportProvider {
    private final List<McpStreamableServerSession> sessions = new ArrayList<>();
    private McpStreamableServerSession.@Nullable Factory factory;

    @Override
    public void setSessionFactory(McpStreamableServerSession.Factory value) {
        factory = value;
    }

    /** Opens sessions and brings each through its handshake's first half. */
    synchronized void open(int count) {
        McpStreamableServerSession.Factory open = Objects.requireNonNull(factory, "no server is set up");
        for (int i = 0; i < count; i++) {
            var init = open.startSession(InitializeRequest.builder(
                            ProtocolVersions.MCP_2025_11_25,
                            ClientCapabilities.builder().build(),
                            Implementation.builder("benchmark", "1").build())
                    .build());
            init.initResult().block();
            sessions.add(init.session());
        }
    }

    @Override
    public List<String> protocolVersions() {
        return List.of(ProtocolVersions.MCP_2025_11_25);
    }

    @Override
    public Mono<Void> notifyClients(String method, Object params) {
        return Mono.empty();
    }

    @Override
    public Mono<Void> closeGracefully() {
        return Mono.empty();
    }
}
