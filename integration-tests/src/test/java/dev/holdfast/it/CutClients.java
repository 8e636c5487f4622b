package dev.holdfast.it;

import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A client of the SDK with calls that take a while, at a server that counts them. */
final class CutClients implements AutoCloseable {
    /** So many messages the tool sends before its answer, one each 100 ms. */
    static final int STEPS = 35;

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    /** What the client was sent, in order. */
    final List<String> logged = new CopyOnWriteArrayList<>();

    private final McpAsyncClient client;

    CutClients(McpClientTransport transport, Duration requestTimeout) {
        client = McpClient.async(transport)
                .requestTimeout(requestTimeout)
                .loggingConsumer(message -> {
                    logged.add(message.data());
                    return Mono.empty();
                })
                .build();
        client.initialize().block(PATIENCE);
    }

    /** Gives a server the tool {@code steps}, which tells each of its steps. */
    static TestServer.Builder withSteps(TestServer.Builder server, List<String> executed) {
        return server.tool("steps", (exchange, request) -> {
            String name = Tools.textOf(request);
            executed.add(name);
            return Flux.range(0, STEPS)
                    .delayElements(Duration.ofMillis(100))
                    .concatMap(step -> exchange.loggingNotification(
                            LoggingMessageNotification.builder(LoggingLevel.INFO, name + " " + step)
                                    .build()))
                    .then(Mono.just(name + " done"));
        });
    }

    /** Calls a tool. */
    CompletableFuture<String> call(String tool, String text) {
        return client.callTool(CallToolRequest.builder(tool)
                        .arguments(Map.of("text", text))
                        .build())
                .map(result -> ((TextContent) result.content().get(0)).text())
                .toFuture();
    }

    McpAsyncClient client() {
        return client;
    }

    @Override
    public void close() {
        client.closeGracefully().block(PATIENCE);
    }
}
