package dev.holdfast.it;

import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.ClientCapabilities;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A client of the SDK with calls that take a while, at a server that counts them. */
final class CutClients implements AutoCloseable {
    /** So many messages the tool sends before its answer, one each 100 ms. */
    static final int STEPS = 35;

    private static final int MANY = 600;
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    /** What the client was sent, in order. */
    final List<String> logged = new CopyOnWriteArrayList<>();

    private final McpAsyncClient client;

    CutClients(McpClientTransport transport, Duration requestTimeout) {
        this(transport, requestTimeout, question -> CompletableFuture.completedFuture(""));
    }

    /**
     * A client that is connected.
     *
     * @param answers what its user says to a question
     */
    CutClients(
            McpClientTransport transport,
            Duration requestTimeout,
            Function<String, CompletableFuture<String>> answers) {
        client = McpClient.async(transport)
                .requestTimeout(requestTimeout)
                .capabilities(ClientCapabilities.builder().elicitation().build())
                .elicitation(Tools.answering(answers))
                .loggingConsumer(message -> {
                    logged.add(message.data());
                    return Mono.empty();
                })
                .build();
        client.initialize().block(PATIENCE);
    }

    /**
     * Gives a server the tools {@code steps}, which tells each of its steps, {@code endless}, which does so and never ends, and
     * {@code ask}, which asks the client's user.
     */
    static TestServer.Builder withSteps(TestServer.Builder server, List<String> executed) {
        server.tool(
                "ask",
                (exchange, request) -> Tools.ask(exchange, Tools.textOf(request))
                        .map(answer -> String.valueOf(answer.content().get("text"))));
        server.tool(
                "endless",
                (exchange, request) -> steps(exchange, request, MANY, executed).then(Mono.never()));
        return server.tool(
                "steps",
                (exchange, request) ->
                        steps(exchange, request, STEPS, executed).then(Mono.just(Tools.textOf(request) + " done")));
    }

    private static Mono<Void> steps(
            McpAsyncServerExchange exchange, CallToolRequest request, int steps, List<String> executed) {
        String name = Tools.textOf(request);
        executed.add(name);
        return Flux.range(0, steps)
                .delayElements(Duration.ofMillis(100))
                .concatMap(step -> exchange.loggingNotification(
                        new LoggingMessageNotification(LoggingLevel.INFO, "test", name + " " + step)))
                .then();
    }

    /** Calls a tool. */
    CompletableFuture<String> call(String tool, String text) {
        return client.callTool(new CallToolRequest(tool, Map.of("text", text), null))
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
