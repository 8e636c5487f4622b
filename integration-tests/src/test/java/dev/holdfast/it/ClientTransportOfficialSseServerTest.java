package dev.holdfast.it;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.server.transport.HttpServletSseServerTransportProvider;
import io.modelcontextprotocol.spec.McpServerTransportProvider;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;

/** The same with the official server transport of HTTP+SSE on the other end, which the client finds out by itself. */
@SuppressWarnings("deprecation") // the SDK gives HTTP+SSE up, its users do not yet
class ClientTransportOfficialSseServerTest extends SdkClientServerTest {
    ClientTransportOfficialSseServerTest(ContainerKind kind) {
        super(kind);
    }

    @Override
    McpServerTransportProviderBase transport(McpTransportContextExtractor<HttpServletRequest> extractor) {
        return HttpServletSseServerTransportProvider.builder()
                .sseEndpoint("/sse")
                .messageEndpoint("/messages")
                .contextExtractor(extractor)
                .build();
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

    @Override
    protected McpServer.AsyncSpecification<?> prepareAsyncServerBuilder() {
        return PatientServer.of(McpServer.async((McpServerTransportProvider) transport));
    }

    @Override
    protected McpServer.SyncSpecification<?> prepareSyncServerBuilder() {
        return McpServer.sync((McpServerTransportProvider) transport);
    }
}
