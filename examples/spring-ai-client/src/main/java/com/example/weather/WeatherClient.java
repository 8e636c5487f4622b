package com.example.weather;

import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.util.List;
import java.util.Map;
import org.springframework.boot.CommandLineRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

@SpringBootApplication
public class WeatherClient {
    private static final int DAYS = 20;

    public static void main(String[] args) {
        SpringApplication.run(WeatherClient.class, args).close();
    }

    @Bean
    CommandLineRunner forecasts(List<McpSyncClient> clients) {
        return arguments -> {
            for (int day = 1; day <= DAYS; day++) {
                System.out.println("day " + day + ": " + forecast(clients.get(0)));
            }
        };
    }

    private static String forecast(McpSyncClient client) {
        CallToolRequest request = CallToolRequest.builder("forecast")
                .arguments(Map.of("city", "Bern"))
                .build();
        try {
            CallToolResult result = client.callTool(request);
            return ((TextContent) result.content().get(0)).text();
        } catch (RuntimeException e) {
            // a server that died under the call: nobody knows whether it was executed, so it is not sent again
            return String.valueOf(e.getMessage());
        }
    }
}
