package com.example.gateway;

import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpSyncServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.JsonSchema;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import jakarta.servlet.http.HttpServlet;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/** A server that pings its clients and tells them something now and then, and has a tool that outlasts the proxy's limit. */
@SpringBootApplication
@EnableScheduling
public class GatewayApplication {
    private static final int STEPS = 25;

    private final AtomicInteger told = new AtomicInteger();
    private final HttpServletStreamableServerTransportProvider transport =
            HttpServletStreamableServerTransportProvider.builder()
                    .mcpEndpoint("/mcp")
                    .keepAliveInterval(Duration.ofSeconds(1))
                    .build();

    public static void main(String[] args) {
        SpringApplication.run(GatewayApplication.class, args);
    }

    @Bean
    ServletRegistrationBean<HttpServlet> servlet() {
        return new ServletRegistrationBean<>(transport, "/mcp");
    }

    @Bean(destroyMethod = "closeGracefully")
    McpSyncServer server() {
        Tool count = Tool.builder()
                .name("count")
                .inputSchema(new JsonSchema("object", Map.of(), List.of(), false, null, null))
                .build();
        return McpServer.sync(transport)
                .serverInfo("gateway", "1.0")
                .capabilities(ServerCapabilities.builder().tools(false).logging().build())
                .toolCall(count, GatewayApplication::count)
                .build();
    }

    private static CallToolResult count(McpSyncServerExchange exchange, CallToolRequest request) {
        for (int step = 1; step <= STEPS; step++) {
            LockSupport.parkNanos(Duration.ofMillis(300).toNanos());
            exchange.progressNotification(
                    new ProgressNotification(request.progressToken(), step, (double) STEPS, "step " + step));
        }
        return CallToolResult.builder().addTextContent("counted to " + STEPS).build();
    }

    @Scheduled(fixedRate = 300)
    void tell() {
        String text = String.valueOf(told.incrementAndGet());
        transport
                .notifyClients("notifications/message", Map.of("level", "info", "data", text))
                .block();
    }
}
