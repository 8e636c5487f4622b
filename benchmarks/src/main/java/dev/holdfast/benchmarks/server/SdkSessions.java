package dev.holdfast.benchmarks.server;

import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.ClientCapabilities;
import io.modelcontextprotocol.spec.McpSchema.Implementation;
import io.modelcontextprotocol.spec.McpSchema.InitializeRequest;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCNotification;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.ProtocolVersions;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** No transport at all: holds sessions of the SDK's server and nothing else, to see what they alone weigh and cost. */
final class SdkSessions implements McpStreamableServerTransportProvider {
    private final List<McpStreamableServerSession> sessions = new ArrayList<>();
    private McpStreamableServerSession.@Nullable Factory factory;

    @Override
    public void setSessionFactory(McpStreamableServerSession.Factory value) {
        factory = value;
    }

    /** Opens sessions and brings each through its handshake. */
    synchronized void open(int count) {
        McpStreamableServerSession.Factory open = Objects.requireNonNull(factory, "no server is set up");
        for (int i = 0; i < count; i++) {
            var init = open.startSession(InitializeRequest.builder(
                            ProtocolVersions.MCP_2025_11_25,
                            ClientCapabilities.builder().build(),
                            Implementation.builder("benchmark", "1").build())
                    .build());
            init.initResult().block();
            init.session()
                    .accept(new JSONRPCNotification(McpSchema.METHOD_NOTIFICATION_INITIALIZED, null))
                    .block();
            sessions.add(init.session());
        }
    }

    /** Calls echo on some of them for a while; returns how many calls were answered. */
    synchronized long call(int count, int millis) throws InterruptedException {
        if (sessions.size() < count) {
            open(count - sessions.size());
        }
        return new SdkCalls().run(sessions.subList(0, count), millis);
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
