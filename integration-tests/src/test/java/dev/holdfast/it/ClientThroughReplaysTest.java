package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** The Java client at a server that replays the events of all streams to the one that is resumed, and sends nothing on it after that. */
@Tag("node")
@Timeout(120)
class ClientThroughReplaysTest {
    private static final int CALLS = 3;
    private static final int STEPS = 20;
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final List<String> progress = new CopyOnWriteArrayList<>();
    private final List<String> logged = new CopyOnWriteArrayList<>();

    @ParameterizedTest
    @EnumSource(
            value = CuttingProxy.Cut.class,
            names = {"RST", "FIN"})
    void callsSucceedAndTheirProgressComesOnce(CuttingProxy.Cut cut) throws Exception {
        try (NodeServer server = NodeServer.replayingEverything();
                CuttingProxy proxy = CuttingProxy.to(server.port())) {
            McpAsyncClient client = connect(proxy);
            List<CompletableFuture<CallToolResult>> calls = IntStream.range(0, CALLS)
                    .mapToObj(number -> client.callTool(CallToolRequest.builder("trigger-long-running-operation")
                                    .arguments(Map.of("duration", 4, "steps", STEPS))
                                    .progressToken("call-" + number)
                                    .build())
                            .toFuture())
                    .toList();
            await().atMost(PATIENCE).until(() -> IntStream.range(0, CALLS).allMatch(this::hasProgress));

            proxy.cut(cut);

            for (int number = 0; number < CALLS; number++) {
                assertThat(calls.get(number).get(60, TimeUnit.SECONDS).isError())
                        .isNotEqualTo(true);
                String name = "call-" + number;
                assertThat(progress.stream().filter(line -> line.startsWith(name + " ")))
                        .containsExactlyElementsOf(IntStream.rangeClosed(1, STEPS)
                                .mapToObj(step -> name + " " + step)
                                .toList());
            }
            client.closeGracefully().block(PATIENCE);
        }
    }

    /** The server logs something every 5 s, on the listening stream. */
    @Test
    void theListeningStreamGoesOn() throws Exception {
        try (NodeServer server = NodeServer.replayingEverything();
                CuttingProxy proxy = CuttingProxy.to(server.port())) {
            McpAsyncClient client = connect(proxy);
            client.callTool(CallToolRequest.builder("toggle-simulated-logging").build())
                    .block(PATIENCE);
            await().atMost(PATIENCE).until(() -> logged.size() >= 2);
            client.callTool(CallToolRequest.builder("echo")
                            .arguments(Map.of("message", "hello"))
                            .build())
                    .block(PATIENCE);

            proxy.cut(CuttingProxy.Cut.RST);

            await().atMost(Duration.ofSeconds(60)).until(() -> logged.size() >= 5);
            client.closeGracefully().block(PATIENCE);
        }
    }

    private boolean hasProgress(int number) {
        return progress.stream()
                        .filter(line -> line.startsWith("call-" + number + " "))
                        .count()
                > 1;
    }

    private McpAsyncClient connect(CuttingProxy proxy) {
        McpAsyncClient client = McpClient.async(HoldfastClientTransport.builder("http://127.0.0.1:" + proxy.port())
                        .build())
                .requestTimeout(Duration.ofSeconds(60))
                .progressConsumer(told -> Mono.fromRunnable(() -> progress.add(
                        told.progressToken() + " " + told.progress().intValue())))
                .loggingConsumer(told -> Mono.fromRunnable(() -> logged.add(told.data())))
                .build();
        client.initialize().block(PATIENCE);
        return client;
    }
}
