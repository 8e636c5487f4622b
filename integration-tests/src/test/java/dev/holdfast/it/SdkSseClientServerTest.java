package dev.holdfast.it;

import dev.holdfast.mcp.HoldfastTransportProvider;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The same over HTTP+SSE. */
@Tag("sdk")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
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
    protected void prepareClients(int port, String mcpEndpoint) {
        clientBuilders.put(
                CLIENT,
                McpClient.sync(HttpClientSseClientTransport.builder("http://localhost:" + port)
                                .sseEndpoint("/sse")
                                .build())
                        .requestTimeout(Duration.ofHours(10)));
    }
}
