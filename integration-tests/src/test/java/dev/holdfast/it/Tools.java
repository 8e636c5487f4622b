package dev.holdfast.it;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ElicitRequest;
import io.modelcontextprotocol.spec.McpSchema.ElicitResult;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;
import reactor.core.publisher.Mono;

/** Tools of a test's server: each takes any arguments and answers with one text. */
final class Tools {
    private static final Class<?> ELICITATION = elicitation();

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
        return tool(definition(name, "{\"readOnlyHint\":true}"), handler);
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
        return exchange.progressNotification(progress(request, step));
    }

    static ProgressNotification progress(CallToolRequest request, int step) {
        return new ProgressNotification(request.progressToken(), (double) step, null, null, null);
    }

    /** Asks the client's user for a text. */
    static Mono<ElicitResult> ask(McpAsyncServerExchange exchange, String message) {
        return exchange.createElicitation(
                (ElicitRequest)
                        read(
                                ELICITATION,
                                "{\"message\":\"" + message
                                        + "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}}"));
    }

    /** A user who answers such questions; their type is another one since 2.0. */
    static <Q> Function<Q, Mono<ElicitResult>> answering(Function<String, CompletableFuture<String>> user) {
        return question -> {
            Object message = McpJsonDefaults.getMapper()
                    .convertValue(question, Map.class)
                    .get("message");
            return Mono.fromFuture(user.apply(String.valueOf(message)))
                    .map(text -> new ElicitResult(ElicitResult.Action.ACCEPT, Map.of("text", text), null));
        };
    }

    /** What the SDK holds for elicitation by a form: a class of its own since 2.0. */
    private static Class<?> elicitation() {
        try {
            return ElicitRequest.class.isInterface()
                    ? Class.forName(McpSchema.class.getName() + "$ElicitFormRequest")
                    : ElicitRequest.class;
        } catch (ClassNotFoundException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }

    /** Something of the SDK from its JSON, which is the same for all versions, as builders and constructors are not. */
    static <T> T read(Class<T> type, String json) {
        try {
            return McpJsonDefaults.getMapper().readValue(json, type);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Tool definition(String name) {
        return definition(name, "{}");
    }

    private static Tool definition(String name, String annotations) {
        return read(
                Tool.class,
                "{\"name\":\"" + name + "\",\"description\":\"" + name
                        + "\",\"inputSchema\":{\"type\":\"object\"},\"annotations\":" + annotations + "}");
    }

    static CallToolResult text(String text) {
        return CallToolResult.builder().addTextContent(text).build();
    }
}
