package dev.holdfast.spring.client;

import dev.holdfast.mcp.HoldfastTransportProvider;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** A server of the SDK on one port, whose connections can be cut, and which forgets its sessions when it is started again. */
final class RestartableServer implements AutoCloseable {
    private static final Map<String, Object> ANYTHING = Map.of("type", "object");

    /** How often a tool was called. */
    final AtomicInteger calls = new AtomicInteger();
    /** The tool {@code slow} was called. */
    final CountDownLatch begun = new CountDownLatch(1);
    /** The tool {@code slow} may answer. */
    final CountDownLatch released = new CountDownLatch(1);

    private Server server = new Server();
    private ServerConnector connector = new ServerConnector(server);
    private int port;

    /** Starts it, on the port that it had before. */
    RestartableServer start() throws Exception {
        HoldfastTransportProvider transport =
                HoldfastTransportProvider.builder().mcpEndpoint("/tools").build();
        McpServer.sync(transport)
                .serverInfo("weather", "1")
                .toolCall(tool("greet"), this::greet)
                .toolCall(tool("slow"), this::slow)
                .build();
        server = new Server();
        connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        connector.setPort(port);
        server.addConnector(connector);
        ServletHolder servlet = new ServletHolder(transport);
        servlet.setAsyncSupported(true);
        ServletContextHandler context = new ServletContextHandler("/");
        context.addServlet(servlet, "/tools");
        server.setHandler(context);
        server.start();
        port = connector.getLocalPort();
        return this;
    }

    private static Tool tool(String name) {
        return Tool.builder(name, ANYTHING).description(name).build();
    }

    private CallToolResult greet(McpSyncServerExchange exchange, CallToolRequest request) {
        calls.incrementAndGet();
        return text("hello");
    }

    private CallToolResult slow(McpSyncServerExchange exchange, CallToolRequest request) {
        calls.incrementAndGet();
        begun.countDown();
        try {
            released.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return text("slept");
    }

    private static CallToolResult text(String text) {
        return CallToolResult.builder().addTextContent(text).build();
    }

    String url() {
        return "http://127.0.0.1:" + port;
    }

    /** Cuts every connection. */
    void cut() {
        connector.getConnectedEndPoints().forEach(EndPoint::close);
    }

    /** Ends it, with its sessions. */
    void stop() throws Exception {
        cut();
        server.stop();
    }

    @Override
    public void close() throws Exception {
        released.countDown();
        stop();
    }
}
