package dev.holdfast.benchmarks;

import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongFunction;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** The ways to run a server of the SDK. Its tools: {@code echo {text}}, {@code notify {count, tag}}, {@code progress {count, rounds, tag}}. */
enum Variant {
    /** {@code McpServer.sync}: handlers run on Reactor's elastic threads. */
    SYNC {
        @Override
        void serve(McpStreamableServerTransportProvider provider) {
            sync(provider, false);
        }
    },
    /** {@code McpServer.sync} with {@code immediateExecution}: handlers run on the request's thread. */
    IMMEDIATE {
        @Override
        void serve(McpStreamableServerTransportProvider provider) {
            sync(provider, true);
        }
    },
    /** {@code McpServer.async}. */
    ASYNC {
        @Override
        void serve(McpStreamableServerTransportProvider provider) {
            McpServer.async(provider)
                    .serverInfo(NAME, VERSION)
                    .capabilities(CAPABILITIES)
                    .toolCall(ECHO, (exchange, request) -> Mono.fromSupplier(() -> echo(request)))
                    .toolCall(NOTIFY, (exchange, request) -> flood(provider, exchange.sessionId(), request))
                    .toolCall(
                            PROGRESS,
                            (exchange, request) ->
                                    steps(request, step -> exchange.progressNotification(progress(request, step))))
                    .build();
        }
    };

    private static final String NAME = "holdfast-benchmarks";
    private static final String VERSION = "1";
    private static final ServerCapabilities CAPABILITIES =
            ServerCapabilities.builder().tools(false).logging().build();
    private static final Tool ECHO = Tool.builder("echo", schema(Map.of("text", Map.of("type", "string"))))
            .description("Returns its text.")
            .build();
    private static final Tool NOTIFY = Tool.builder(
                    "notify", schema(Map.of("count", Map.of("type", "integer"), "tag", Map.of("type", "string"))))
            .description("Sends log messages to the listening stream of its session.")
            .build();

    private static final Tool PROGRESS = Tool.builder(
                    "progress",
                    schema(Map.of(
                            "count",
                            Map.of("type", "integer"),
                            "rounds",
                            Map.of("type", "integer"),
                            "tag",
                            Map.of("type", "string"))))
            .description("Reports progress on its own stream, in ten rounds a second.")
            .build();
    private static final Duration STEP = Duration.ofMillis(100);

    abstract void serve(McpStreamableServerTransportProvider provider);

    private static void sync(McpStreamableServerTransportProvider provider, boolean immediate) {
        McpServer.sync(provider)
                .serverInfo(NAME, VERSION)
                .capabilities(CAPABILITIES)
                .immediateExecution(immediate)
                .toolCall(ECHO, (exchange, request) -> echo(request))
                .toolCall(
                        NOTIFY,
                        (exchange, request) -> Objects.requireNonNull(
                                flood(provider, exchange.sessionId(), request).block()))
                .toolCall(
                        PROGRESS,
                        (exchange, request) -> Objects.requireNonNull(steps(
                                        request,
                                        step -> Mono.fromRunnable(
                                                () -> exchange.progressNotification(progress(request, step))))
                                .block()))
                .build();
    }

    private static CallToolResult echo(CallToolRequest request) {
        return result(String.valueOf(request.arguments().get("text")));
    }

    private static Mono<CallToolResult> flood(
            McpStreamableServerTransportProvider provider, String session, CallToolRequest request) {
        int count = Integer.parseInt(String.valueOf(request.arguments().get("count")));
        Object tag = request.arguments().get("tag");
        return Flux.range(1, count)
                .concatMap(i -> provider.notifyClient(
                        session, "notifications/message", Map.of("level", "info", "data", tag + "#" + i)))
                .then(Mono.fromSupplier(() -> result("sent " + count)));
    }

    private static ProgressNotification progress(CallToolRequest request, long step) {
        return ProgressNotification.builder(request.progressToken(), (double) step)
                .message(String.valueOf(request.arguments().get("tag")))
                .build();
    }

    private static Mono<CallToolResult> steps(CallToolRequest request, LongFunction<Mono<Void>> send) {
        int count = Integer.parseInt(String.valueOf(request.arguments().get("count")));
        int rounds = Integer.parseInt(String.valueOf(request.arguments().get("rounds")));
        int atOnce = count / rounds;
        return Flux.interval(STEP)
                .take(rounds)
                .onBackpressureBuffer()
                // a synchronous server blocks where it sends, which the clock's thread does not allow
                .publishOn(Schedulers.boundedElastic())
                .concatMap(round -> Flux.range(0, atOnce).concatMap(i -> send.apply(round * atOnce + i)))
                .then(Mono.fromSupplier(() -> result("sent " + count)));
    }

    private static CallToolResult result(String text) {
        return CallToolResult.builder()
                .addContent(TextContent.builder(text).build())
                .isError(false)
                .build();
    }

    private static Map<String, Object> schema(Map<String, Object> properties) {
        return Map.of("type", "object", "properties", properties);
    }
}
