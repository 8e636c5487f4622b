package dev.holdfast.it;

import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import java.net.URI;
import java.util.List;
import java.util.Optional;

/** The same over HTTP+SSE on both sides of the gateway: the SDK's client, and its server that has nothing else. */
class UpstreamSseClientServerTest extends UpstreamClientServerTest {
    private static final EdgeOptions EDGE =
            EdgeOptions.builder().httpSse(Optional.of(HttpSseOptions.DEFAULT)).build();

    UpstreamSseClientServerTest(ContainerKind kind) {
        super(kind);
    }

    @Override
    McpServerTransportProviderBase transport(McpTransportContextExtractor<HttpServletRequest> extractor) {
        return OfficialSseServer.transport("/events", extractor);
    }

    @Override
    List<Filter> filters() {
        return List.of(new SerializedWrites());
    }

    @Override
    UpstreamFront before(int port) {
        return new UpstreamFront(kind, URI.create("http://localhost:" + port + "/events"), EDGE);
    }

    @Override
    @SuppressWarnings("deprecation") // the SDK gives HTTP+SSE up, its users do not yet
    McpClientTransport clientTransport(int port) {
        return HttpClientSseClientTransport.builder("http://localhost:" + port)
                .sseEndpoint("/sse")
                .build();
    }
}
