package dev.holdfast.it;

import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import java.net.URI;
import java.time.Duration;
import java.util.List;

/** A server on the Streamable HTTP transport of the SDK, which resumes no answer. */
record OfficialServer(HttpServletStreamableServerTransportProvider transport, Container container)
        implements AutoCloseable {
    private static final Duration GRACE = Duration.ofSeconds(30);

    /** Starts one with these tools. */
    static OfficialServer start(AsyncToolSpecification... tools) throws Exception {
        HttpServletStreamableServerTransportProvider transport = HttpServletStreamableServerTransportProvider.builder()
                .mcpEndpoint("/mcp")
                .build();
        McpServer.async(transport)
                .serverInfo("test", "1")
                .capabilities(ServerCapabilities.builder().tools(false).build())
                .tools(tools)
                .build();
        Container container = ContainerKind.TOMCAT.create(40, Duration.ofSeconds(20));
        container.start(transport, List.of());
        return new OfficialServer(transport, container);
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
