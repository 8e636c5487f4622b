package com.example.server;

import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.rocksdb.RocksDbStore;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.nio.file.Path;
import java.util.Map;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** A server of the SDK whose sessions are in a folder. It tells its port, and ends when its standard input does. */
public final class Application {
    private Application() {}

    /** Serves the sessions in the folder that the first argument names. */
    public static void main(String[] args) throws Exception {
        try (RocksDbStore store = RocksDbStore.builder(Path.of(args[0])).open()) {
            HoldfastTransportProvider transport =
                    HoldfastTransportProvider.builder().store(store).build();
            McpServer.sync(transport)
                    .serverInfo("modular", "1")
                    .toolCall(
                            Tool.builder("echo", Map.of("type", "object")).build(),
                            (exchange, request) -> CallToolResult.builder()
                                    .addTextContent(String.valueOf(request.arguments().get("text")))
                                    .build())
                    .build();
            Server server = serving(transport);
            System.out.println(((ServerConnector) server.getConnectors()[0]).getLocalPort());
            while (System.in.read() >= 0) {
                continue;
            }
            transport.closeGracefully().block();
            server.stop();
        }
    }

    private static Server serving(HoldfastTransportProvider transport) throws Exception {
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
        ServletContextHandler context = new ServletContextHandler();
        ServletHolder holder = new ServletHolder(transport);
        holder.setAsyncSupported(true);
        context.addServlet(holder, "/*");
        server.setHandler(context);
        server.start();
        return server;
    }
}
