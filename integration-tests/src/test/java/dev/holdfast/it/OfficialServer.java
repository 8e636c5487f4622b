package dev.holdfast.it;

import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import jakarta.servlet.http.HttpServletRequest;
import java.net.URI;
import java.time.Duration;
import java.util.List;

/** A server on the Streamable HTTP transport of the SDK, which resumes no answer. */
record OfficialServer(HttpServletStreamableServerTransportProvider transport, Container container)
        implements AutoCloseable {
    private static final Duration GRACE = Duration.ofSeconds(30);

    /** Starts one with these tools. */
    static OfficialServer start(AsyncToolSpecification... tools) throws Exception {
        HttpServletStreamableServerTransportProvider transport = transport(request -> McpTransportContext.EMPTY);
        McpServer.async(transport)
                .serverInfo("test", "1")
                .capabilities(ServerCapabilities.builder().tools(false).build())
                .tools(tools)
                .build();
        Container container = ContainerKind.TOMCAT.create(40, Duration.ofSeconds(20));
        container.start(transport, List.of());
        return new OfficialServer(transport, container);
    }

    /** The transport of one, which asks for the context of no request too: that is empty. */
    static HttpServletStreamableServerTransportProvider transport(
            McpTransportContextExtractor<HttpServletRequest> extractor) {
        return HttpServletStreamableServerTransportProvider.builder()
                .mcpEndpoint("/mcp")
                .contextExtractor(request -> request == null ? McpTransportContext.EMPTY : extractor.extract(request))
                .build();
    }

    int port() {
        return container.port();
    }

    /** The endpoint of whatever serves it, or leads to it, on a port. */
    static URI at(int port) {
        return URI.create("http://127.0.0.1:" + port + "/mcp");
    }

    @Override
    public void close() throws Exception {
        transport.closeGracefully().block(GRACE);
        container.stop();
    }
}
