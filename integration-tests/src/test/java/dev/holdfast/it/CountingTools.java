package dev.holdfast.it;

import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import java.time.Duration;
import java.util.function.Consumer;
import reactor.core.publisher.Mono;

/**
 * Short calls that somebody hears of when they are executed: {@code count}, of which nobody knows whether it may be executed twice, and
 * {@code read}, which may.
 */
record CountingTools(Consumer<String> executed) {
    AsyncToolSpecification count() {
        return Tools.tool("count", this::execute);
    }

    AsyncToolSpecification read() {
        return Tools.reading("read", this::execute);
    }

    private Mono<String> execute(McpAsyncServerExchange exchange, CallToolRequest request) {
        String name = Tools.textOf(request);
        return Mono.fromRunnable(() -> executed.accept(name))
                .then(Mono.delay(Duration.ofMillis(20)))
                .thenReturn(name);
    }
}
