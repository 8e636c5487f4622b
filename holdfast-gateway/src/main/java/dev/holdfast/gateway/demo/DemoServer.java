package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.server.McpAsyncServer;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The built-in MCP server: tools to see a recovery with, and every fixture that the MCP conformance suite asks for. It
 * is an ordinary server of the official Java SDK; only {@code test_reconnection} uses more than the SDK offers.
 */
public final class DemoServer {
    private static final String INSTRUCTIONS =
            "A server to try connections with: call 'slow' with a progress token, cut the connection, and see the call"
                    + " end well. The test_* tools, the prompts and the resources serve the MCP conformance suite.";

    private DemoServer() {}

    /**
     * Starts the server on a transport. It runs on the threads of the transport and of Reactor's timer, parks none of
     * them, and ends with the transport.
     *
     * @param provider the transport, not yet in use by another server
     * @param disconnect how a call has its own stream closed before it has an answer
     */
    public static McpAsyncServer start(McpStreamableServerTransportProvider provider, Disconnect disconnect) {
        return McpServer.async(provider)
                .serverInfo("holdfast-demo", version())
                .instructions(INSTRUCTIONS)
                .capabilities(ServerCapabilities.builder()
                        .tools(false)
                        .resources(true, false)
                        .prompts(false)
                        .completions()
                        .logging()
                        .build())
                // The tools check their input themselves: the SDK would log a warning for every fault of a caller.
                .validateToolInputs(false)
                .tools(specifications(new DemoTools(provider).all()))
                .tools(specifications(DemoContentTools.all()))
                .tools(specifications(DemoStreamTools.all(disconnect)))
                .tools(specifications(DemoClientTools.all()))
                .tools(DemoSchemaTool.specification())
                .resources(DemoResources.all())
                .resourceTemplates(DemoResources.template())
                .prompts(DemoPrompts.all())
                .completions(DemoPrompts.completion())
                .build();
    }

    private static List<AsyncToolSpecification> specifications(List<DemoTool> tools) {
        return tools.stream().map(DemoTool::specification).toList();
    }

    private static String version() {
        return Optional.ofNullable(DemoServer.class.getPackage().getImplementationVersion())
                .orElse("unpackaged");
    }

    /** Closes the stream of the running call in order; what the call sends later waits for the client to come back. */
    @FunctionalInterface
    public interface Disconnect {
        /**
         * Closes the stream.
         *
         * @param call the context of the request that opened the stream
         * @param retry how long the client is asked to wait before it comes back
         */
        void close(McpTransportContext call, Duration retry);
    }
}
