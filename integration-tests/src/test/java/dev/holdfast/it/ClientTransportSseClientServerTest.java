package dev.holdfast.it;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.client.McpClient;
import java.time.Duration;

/** The same over HTTP+SSE, which the client finds out by itself. */
class ClientTransportSseClientServerTest extends SdkSseClientServerTest {
    ClientTransportSseClientServerTest(ContainerKind kind) {
        super(kind);
    }

    @Override
    protected void prepareClients(int port, String mcpEndpoint) {
        clientBuilders.put(
                CLIENT,
                McpClient.sync(HoldfastClientTransport.builder("http://localhost:" + port)
                                .endpoint("/sse")
                                .build())
                        .requestTimeout(Duration.ofHours(10)));
    }
}
