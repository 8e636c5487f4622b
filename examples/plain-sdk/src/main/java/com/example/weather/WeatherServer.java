package com.example.weather;

import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.rocksdb.RocksDbStore;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

public class WeatherServer {
    private static final int STEPS = 5;
    private static final AtomicInteger RUNS = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        RocksDbStore store = RocksDbStore.builder(Path.of("holdfast-data")).open();
        HoldfastTransportProvider transport =
                HoldfastTransportProvider.builder().store(store).build();
        Map<String, Object> city = Map.of("type", "object", "properties", Map.of("city", Map.of("type", "string")));
        Tool forecast = Tool.builder("forecast", city)
                .description("Computes the weather of tomorrow, which takes its time")
                .build();
        McpServer.sync(transport)
                .serverInfo("weather-server", "1.0")
                .toolCall(forecast, WeatherServer::forecast)
                .build();

        ServletHolder servlet = new ServletHolder(transport);
        servlet.setAsyncSupported(true);
        ServletContextHandler context = new ServletContextHandler("/");
        transport.endpoints().forEach(path -> context.addServlet(servlet, path));
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        connector.setPort(args.length == 0 ? 8080 : Integer.parseInt(args[0]));
        connector.setIdleTimeout(75_000);
        server.addConnector(connector);
        server.setHandler(context);
        server.start();

        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            transport.engine().drain(Duration.ofSeconds(20)).toCompletableFuture().join();
            transport.closeGracefully().block();
            store.close();
        }));
        server.join();
    }

    private static CallToolResult forecast(McpSyncServerExchange exchange, CallToolRequest request) {
        int run = RUNS.incrementAndGet();
        for (int step = 1; step <= STEPS; step++) {
            LockSupport.parkNanos(Duration.ofMillis(300).toNanos());
            if (request.progressToken() != null) {
                exchange.progressNotification(ProgressNotification.builder(request.progressToken(), step)
                        .total((double) STEPS)
                        .build());
            }
        }
        return CallToolResult.builder()
                .addTextContent("run=" + run + ": sunny in " + request.arguments().get("city"))
                .build();
    }
}
