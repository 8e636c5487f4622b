package dev.holdfast.it;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.spec.McpClientTransport;

/** The SDK's own test of its client against its server, with Holdfast on both ends. */
class ClientTransportClientServerTest extends SdkClientServerTest {
    ClientTransportClientServerTest(ContainerKind kind) {
        super(kind);
    }

    @Override
    McpClientTransport clientTransport(int port) {
        return HoldfastClientTransport.builder("http://localhost:" + port)
                .endpoint("/mcp")
                .build();
    }
}
