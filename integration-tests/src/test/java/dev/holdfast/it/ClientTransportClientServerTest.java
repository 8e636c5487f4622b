package dev.holdfast.it;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.client.McpClient;
import java.time.Duration;

/** The SDK's own test of its client against its server, with Holdfast on both ends. */
class ClientTransportClientServerTest extends SdkClientServerTest {
    ClientTransportClientServerTest(ContainerKind kind) {
        super(kind);
    }

    @Override
    protected void prepareClients(int port, String mcpEndpoint) {
        clientBuilders.put(
                CLIENT,
                McpClient.sync(HoldfastClientTransport.builder("http://localhost:" + port)
                                .endpoint(mcpEndpoint)
                                .build())
                        .requestTimeout(Duration.ofHours(10)));
    }
}
