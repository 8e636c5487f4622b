package dev.holdfast.it;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import jakarta.servlet.http.HttpServletRequest;

/** The same with the official server transport of HTTP+SSE on the other end, which the client finds out by itself. */
class ClientTransportOfficialSseServerTest extends SdkClientServerTest {
    ClientTransportOfficialSseServerTest(ContainerKind kind) {
        super(kind);
    }

    @Override
    McpServerTransportProviderBase transport(McpTransportContextExtractor<HttpServletRequest> extractor) {
        return OfficialSseServer.transport("/sse", extractor);
    }

    @Override
    McpClientTransport clientTransport(int port) {
        return HoldfastClientTransport.builder("http://localhost:" + port)
                .endpoint("/sse")
                .build();
    }
}
