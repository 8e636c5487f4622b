package dev.holdfast.it;

import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.server.transport.HttpServletSseServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;
import java.util.List;

/** A server on the HTTP+SSE transport of the SDK, which loses a session with its connection. */
@SuppressWarnings("deprecation") // the SDK gives HTTP+SSE up, its users do not yet
record OfficialSseServer(HttpServletSseServerTransportProvider transport, Container container)
        implements AutoCloseable {
    private static final Duration GRACE = Duration.ofSeconds(30);

    /** Starts one with these tools; its stream is at {@code /sse}. */
    static OfficialSseServer start(AsyncToolSpecification... tools) throws Exception {
        return start(List.of(), tools);
    }

    /** The same behind filters. */
    static OfficialSseServer start(List<Filter> filters, AsyncToolSpecification... tools) throws Exception {
        HttpServletSseServerTransportProvider transport = transport("/sse", request -> McpTransportContext.EMPTY);
        McpServer.async(transport)
                .serverInfo("test", "1")
                .capabilities(ServerCapabilities.builder().tools(false).build())
                .tools(tools)
                .build();
        Container container = ContainerKind.JETTY.create(40, Duration.ofSeconds(20));
        container.start(transport, filters);
        return new OfficialSseServer(transport, container);
    }

    /** The transport of one, with its stream at a path. */
    static HttpServletSseServerTransportProvider transport(
            String stream, McpTransportContextExtractor<HttpServletRequest> extractor) {
        return HttpServletSseServerTransportProvider.builder()
                .sseEndpoint(stream)
                .messageEndpoint("/messages")
                .contextExtractor(extractor)
                .build();
    }

    int port() {
        return container.port();
    }

    @Override
    public void close() throws Exception {
        transport.closeGracefully().block(GRACE);
        container.stop();
    }
}
