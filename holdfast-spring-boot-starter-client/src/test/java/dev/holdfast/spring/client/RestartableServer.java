package dev.holdfast.spring.client;

import dev.holdfast.EngineStats;
import dev.holdfast.mcp.HoldfastTransportProvider;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.JsonSchema;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** A server of the SDK on one port, whose connections can be cut, and which forgets its sessions when it is started again. */
@SuppressWarnings("deprecation") // its tools are written as mcp-core 0.18 wants it, too
final class RestartableServer implements AutoCloseable {
    private static final JsonSchema ANYTHING = new JsonSchema("object", null, null, null, null, null);

    /** How often a tool was called. */
    final AtomicInteger calls = new AtomicInteger();
    /** The tool {@code slow}, which says so when it begins, may answer. */
    final CountDownLatch released = new CountDownLatch(1);

    private HoldfastTransportProvider transport =
            HoldfastTransportProvider.builder().build();
    private Server server = new Server();
    private ServerConnector connector = new ServerConnector(server);
    /** Holds the port while nobody listens: no client of this machine is given it. */
    private final Socket place = new Socket();

    private final int port;

    RestartableServer() {
        try {
            place.setReuseAddress(true);
            place.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        port = place.getLocalPort();
    }

    /** Starts it, always on the same port. */
    RestartableServer start() throws Exception {
        transport = HoldfastTransportProvider.builder().mcpEndpoint("/tools").build();
        McpServer.sync(transport)
                .serverInfo("weather", "1")
                .capabilities(
                        ServerCapabilities.builder().tools(false).logging().build())
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
        return this;
    }

    private static Tool tool(String name) {
        return Tool.builder().name(name).inputSchema(ANYTHING).description(name).build();
    }

    private CallToolResult greet(McpSyncServerExchange exchange, CallToolRequest request) {
        calls.incrementAndGet();
        return text("hello");
    }

    private CallToolResult slow(McpSyncServerExchange exchange, CallToolRequest request) {
        calls.incrementAndGet();
        exchange.loggingNotification(new LoggingMessageNotification(LoggingLevel.INFO, "slow", "begun"));
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

    EngineStats stats() {
        return transport.engine().stats();
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
        place.close();
    }
}
