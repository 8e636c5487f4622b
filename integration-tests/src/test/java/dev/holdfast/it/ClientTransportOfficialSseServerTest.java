package dev.holdfast.it;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import java.util.List;

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
    List<Filter> filters() {
        return List.of(new SerializedWrites());
    }

    @Override
    McpClientTransport clientTransport(int port) {
        return HoldfastClientTransport.builder("http://localhost:" + port)
                .endpoint("/sse")
                .build();
    }
}
