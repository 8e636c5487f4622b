package dev.holdfast.benchmarks.server;

import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.stream.Collectors;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** The tools of the measured servers, each the same in every variant. */
final class Tools {
    static final Tool ECHO = tool("echo", "Returns its text.", "text:string");
    static final Tool BYTES = tool("bytes", "Returns a text of so many bytes.", "count:integer");
    static final Tool REPORT = tool("report", "Reports progress on its own stream, without a pause.", "count:integer");
    static final Tool NOTIFY =
            tool("notify", "Sends log messages to the listening stream of its session.", "count:integer", "tag:string");
    static final Tool PROGRESS = tool(
            "progress",
            "Reports progress on its own stream, in ten rounds a second.",
            "count:integer",
            "rounds:integer",
            "tag:string");

    private static final Duration STEP = Duration.ofMillis(100);
    private static final Map<Integer, String> TEXTS = new ConcurrentHashMap<>();

    private Tools() {}

    static CallToolResult echo(CallToolRequest request) {
        return result(String.valueOf(request.arguments().get("text")));
    }

    static CallToolResult bytes(CallToolRequest request) {
        return result(TEXTS.computeIfAbsent(number(request, "count"), "x"::repeat));
    }

    /** All at once; each is sent before the next. */
    static Mono<CallToolResult> report(CallToolRequest request, Function<ProgressNotification, Mono<Void>> send) {
        int count = number(request, "count");
        return Flux.range(1, count)
                .concatMap(step -> send.apply(progress(request, step)))
                .then(Mono.fromSupplier(() -> result("sent " + count)));
    }

    static Mono<CallToolResult> flood(
            McpStreamableServerTransportProvider provider, String session, CallToolRequest request) {
        int count = number(request, "count");
        Object tag = request.arguments().get("tag");
        return Flux.range(1, count)
                .concatMap(i -> provider.notifyClient(
                        session, "notifications/message", Map.of("level", "info", "data", tag + "#" + i)))
                .then(Mono.fromSupplier(() -> result("sent " + count)));
    }

    static Mono<CallToolResult> steps(CallToolRequest request, Function<ProgressNotification, Mono<Void>> send) {
        int count = number(request, "count");
        int rounds = number(request, "rounds");
        int atOnce = count / rounds;
        LongFunction<Mono<Void>> step = number -> send.apply(progress(request, number));
        return Flux.interval(STEP)
                .take(rounds)
                .onBackpressureBuffer()
                // a synchronous server blocks where it sends, which the clock's thread does not allow
                .publishOn(Schedulers.boundedElastic())
                .concatMap(round -> Flux.range(0, atOnce).concatMap(i -> step.apply(round * atOnce + i)))
                .then(Mono.fromSupplier(() -> result("sent " + count)));
    }

    static ProgressNotification progress(CallToolRequest request, long step) {
        return ProgressNotification.builder(request.progressToken(), (double) step)
                .message(String.valueOf(request.arguments().get("tag")))
                .build();
    }

    static int number(CallToolRequest request, String name) {
        return Integer.parseInt(String.valueOf(request.arguments().get(name)));
    }

    static CallToolResult result(String text) {
        return CallToolResult.builder()
                .addContent(TextContent.builder(text).build())
                .isError(false)
                .build();
    }

    private static Tool tool(String name, String description, String... properties) {
        Map<String, Object> types = Arrays.stream(properties)
                .map(property -> property.split(":", 2))
                .collect(Collectors.toMap(pair -> pair[0], pair -> Map.of("type", pair[1])));
        return Tool.builder(name, Map.of("type", "object", "properties", types))
                .description(description)
                .build();
    }
}
