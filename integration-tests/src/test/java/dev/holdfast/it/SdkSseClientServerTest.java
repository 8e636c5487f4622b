package dev.holdfast.it;

import dev.holdfast.mcp.HoldfastTransportProvider;
import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;

/** The same over HTTP+SSE. */
class SdkSseClientServerTest extends SdkClientServerTest {
    SdkSseClientServerTest(ContainerKind kind) {
        super(kind);
    }

    @Override
    McpStreamableServerTransportProvider transport(McpTransportContextExtractor<HttpServletRequest> extractor) {
        return HoldfastTransportProvider.builder()
                .sseEndpoint("/sse")
                .contextExtractor(extractor)
                .keepAliveInterval(Duration.ofSeconds(1))
                .build();
    }

    @Override
    @SuppressWarnings("deprecation") // the SDK gives HTTP+SSE up, its users do not yet
    McpClientTransport clientTransport(int port) {
        return HttpClientSseClientTransport.builder("http://localhost:" + port)
                .sseEndpoint("/sse")
                .build();
    }
}
