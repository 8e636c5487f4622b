package dev.holdfast.it;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.spec.McpClientTransport;

/** The same over HTTP+SSE, which the client finds out by itself. */
class ClientTransportSseClientServerTest extends SdkSseClientServerTest {
    ClientTransportSseClientServerTest(ContainerKind kind) {
        super(kind);
    }

    @Override
    McpClientTransport clientTransport(int port) {
        return HoldfastClientTransport.builder("http://localhost:" + port)
                .endpoint("/sse")
                .build();
    }
}
