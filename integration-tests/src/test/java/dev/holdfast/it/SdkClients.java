package dev.holdfast.it;

import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.ClientCapabilities;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import reactor.core.publisher.Mono;

/** Clients of the SDK whose user answers questions. */
final class SdkClients {
    private SdkClients() {}

    /**
     * Opens one.
     *
     * @param user answers the questions of the server
     * @param told gets the progress of all calls
     */
    static McpAsyncClient open(
            McpClientTransport transport,
            Duration patience,
            Function<String, CompletableFuture<String>> user,
            Collection<Integer> told) {
        McpAsyncClient client = McpClient.async(transport)
                .requestTimeout(patience)
                .capabilities(ClientCapabilities.builder().elicitation().build())
                .elicitation(Tools.answering(user))
                .progressConsumer(progress ->
                        Mono.fromRunnable(() -> told.add(progress.progress().intValue())))
                .build();
        client.initialize().block(patience);
        return client;
    }

    /** Calls a tool that answers with a text. */
    static CompletableFuture<String> call(McpAsyncClient client, String tool, String text) {
        return client.callTool(new CallToolRequest(tool, Map.of("text", text), Map.of("progressToken", "p")))
                .map(result -> ((TextContent) result.content().get(0)).text())
                .toFuture();
    }
}
