package dev.holdfast.it;

import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import io.modelcontextprotocol.spec.McpSchema.ToolAnnotations;
import java.util.Map;
import java.util.function.BiFunction;
import reactor.core.publisher.Mono;

/** Tools of a test's server: each takes any arguments and answers with one text. */
final class Tools {
    private static final Map<String, Object> ANYTHING = Map.of("type", "object");

    private Tools() {}

    /** Answers with its argument {@code text}. */
    static AsyncToolSpecification echo() {
        return tool("echo", (exchange, request) -> Mono.just(textOf(request)));
    }

    /** The argument {@code text}. */
    static String textOf(CallToolRequest request) {
        return String.valueOf(request.arguments().get("text"));
    }

    static AsyncToolSpecification tool(
            String name, BiFunction<McpAsyncServerExchange, CallToolRequest, Mono<String>> handler) {
        return tool(definition(name), handler);
    }

    /** One that says of itself that it only reads. */
    static AsyncToolSpecification reading(
            String name, BiFunction<McpAsyncServerExchange, CallToolRequest, Mono<String>> handler) {
        Tool tool = Tool.builder(name, ANYTHING)
                .description(name)
                .annotations(ToolAnnotations.builder().readOnlyHint(true).build())
                .build();
        return tool(tool, handler);
    }

    private static AsyncToolSpecification tool(
            Tool tool, BiFunction<McpAsyncServerExchange, CallToolRequest, Mono<String>> handler) {
        return AsyncToolSpecification.builder()
                .tool(tool)
                .callHandler((exchange, request) ->
                        Mono.defer(() -> handler.apply(exchange, request)).map(Tools::text))
                .build();
    }

    /** Reports progress to the caller, who has given a token. */
    static Mono<Void> progress(McpAsyncServerExchange exchange, CallToolRequest request, int step) {
        return exchange.progressNotification(
                ProgressNotification.builder(request.progressToken(), step).build());
    }

    static Tool definition(String name) {
        return Tool.builder(name, ANYTHING).description(name).build();
    }

    static CallToolResult text(String text) {
        return CallToolResult.builder().addTextContent(text).build();
    }
}
