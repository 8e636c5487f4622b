package dev.holdfast.it;

import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.server.transport.HttpServletSseServerTransportProvider;
import io.modelcontextprotocol.spec.McpServerTransportProvider;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import jakarta.servlet.http.HttpServletRequest;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The SDK's own test over HTTP+SSE on both sides of a gateway: its client, and its server that has nothing else. */
@Tag("sdk")
@SuppressWarnings("deprecation") // the SDK gives HTTP+SSE up, its users do not yet
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class UpstreamSseClientServerTest extends SdkClientServerTest {
    private static final EdgeOptions EDGE =
            EdgeOptions.builder().httpSse(Optional.of(HttpSseOptions.DEFAULT)).build();

    private final ContainerKind kind;
    private final List<UpstreamFront> fronts = new ArrayList<>();

    UpstreamSseClientServerTest(ContainerKind kind) {
        super(kind);
        this.kind = kind;
    }

    @Override
    McpServerTransportProviderBase transport(McpTransportContextExtractor<HttpServletRequest> extractor) {
        return HttpServletSseServerTransportProvider.builder()
                .sseEndpoint("/events")
                .messageEndpoint("/messages")
                .contextExtractor(extractor)
                .build();
    }

    @Override
    protected void prepareClients(int port, String mcpEndpoint) {
        UpstreamFront front = new UpstreamFront(kind, URI.create("http://localhost:" + port + "/events"), EDGE);
        fronts.add(front);
        clientBuilders.put(
                CLIENT,
                McpClient.sync(HttpClientSseClientTransport.builder("http://localhost:" + front.port())
                                .sseEndpoint("/sse")
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

    @AfterEach
    void closeFronts() throws Exception {
        for (UpstreamFront front : fronts) {
            front.close();
        }
    }
}
