package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import java.time.Duration;
import java.util.List;
import reactor.core.publisher.Mono;

/** Conformance fixtures: tools that use the stream of their call before they answer. */
final class DemoStreamTools {
    private static final Duration PAUSE = Duration.ofMillis(50);
    private static final Duration RETRY = Duration.ofMillis(100);
    /** Longer than {@link #RETRY}, so that most clients are back before there is an answer. */
    private static final Duration AWAY = Duration.ofMillis(300);

    private DemoStreamTools() {}

    static List<DemoTool> all(DemoServer.Disconnect disconnect) {
        return List.of(
                new DemoTool(
                        "test_tool_with_logging",
                        "Sends three log messages, then answers.",
                        DemoTool.READS,
                        List.of(),
                        DemoStreamTools::logging),
                new DemoTool(
                        "test_tool_with_progress",
                        "Reports progress 0, 50 and 100 of 100, then answers.",
                        DemoTool.READS,
                        List.of(),
                        DemoStreamTools::progress),
                new DemoTool(
                        "test_reconnection",
                        "Closes the stream of the call, then answers: clients get the answer by coming back"
                                + " with the id of the last event they saw.",
                        DemoTool.READS,
                        List.of(),
                        call -> reconnection(call, disconnect)));
    }

    private static Mono<CallToolResult> logging(DemoCall call) {
        return call.log("Tool execution started")
                .then(Mono.delay(PAUSE))
                .then(call.log("Tool processing data"))
                .then(Mono.delay(PAUSE))
                .then(call.log("Tool execution completed"))
                .thenReturn(DemoAnswer.text("Sent three log messages."));
    }

    private static Mono<CallToolResult> progress(DemoCall call) {
        return call.progress(0, 100)
                .then(Mono.delay(PAUSE))
                .then(call.progress(50, 100))
                .then(Mono.delay(PAUSE))
                .then(call.progress(100, 100))
                .thenReturn(DemoAnswer.text("Reported progress three times."));
    }

    private static Mono<CallToolResult> reconnection(DemoCall call, DemoServer.Disconnect disconnect) {
        disconnect.close(call.exchange().transportContext(), RETRY);
        return Mono.delay(AWAY).thenReturn(DemoAnswer.text("The stream was closed before this answer was sent."));
    }
}
