package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** The Java client at a server of the TypeScript SDK with an event store, while connections are cut under its calls. */
@Tag("node")
@Timeout(120)
@Execution(ExecutionMode.CONCURRENT)
class ClientThroughNodeCutsTest {
    private static final int CALLS = 3;
    private static final int MILLIS = 4000;
    private static final int STEPS = 20;
    /** More than the calls take. */
    private static final Duration OFFICIAL_TIMEOUT = Duration.ofSeconds(15);

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    @AutoClose
    private final OpenResources open = new OpenResources();

    private final ConnectionNews listener = new ConnectionNews();
    private final List<String> progress = new CopyOnWriteArrayList<>();
    private NodeServer server;
    private CuttingProxy proxy;

    @BeforeEach
    void start() throws Exception {
        server = open.add(NodeServer.withEvents());
        proxy = open.add(CuttingProxy.to(server.port()));
    }

    private HoldfastClientTransport.Builder holdfast() {
        return HoldfastClientTransport.builder("http://127.0.0.1:" + proxy.port())
                .listener(listener);
    }

    private McpAsyncClient client(McpClientTransport transport, Duration requestTimeout) {
        McpAsyncClient client = McpClient.async(transport)
                .requestTimeout(requestTimeout)
                .progressConsumer(told -> Mono.fromRunnable(() -> progress.add(
                        told.progressToken() + " " + told.progress().intValue())))
                .build();
        client.initialize().block(PATIENCE);
        return client;
    }

    /** Calls that tell each of their steps under a token of their own. */
    private static List<CompletableFuture<CallToolResult>> calls(McpAsyncClient client) {
        return IntStream.range(0, CALLS)
                .mapToObj(number -> client.callTool(CallToolRequest.builder("slow")
                                .arguments(Map.of("ms", MILLIS + number, "steps", STEPS))
                                .progressToken("call-" + number)
                                .build())
                        .toFuture())
                .toList();
    }

    private void awaitProgress() {
        await().atMost(PATIENCE).until(() -> IntStream.range(0, CALLS).allMatch(this::hasProgress));
    }

    private boolean hasProgress(int number) {
        return progress.stream()
                        .filter(line -> line.startsWith("call-" + number + " "))
                        .count()
                > 1;
    }

    private void assertAnswered(List<CompletableFuture<CallToolResult>> calls) throws Exception {
        for (int number = 0; number < CALLS; number++) {
            CallToolResult result = calls.get(number).get(60, TimeUnit.SECONDS);
            assertThat(((TextContent) result.content().get(0)).text()).isEqualTo("done");
            String name = "call-" + number;
            assertThat(progress.stream().filter(line -> line.startsWith(name + " ")))
                    .containsExactlyElementsOf(IntStream.rangeClosed(1, STEPS)
                            .mapToObj(step -> name + " " + step)
                            .toList());
        }
        assertEachExecutedOnce();
    }

    private void assertNothingMissing(List<CompletableFuture<CallToolResult>> calls) throws Exception {
        assertAnswered(calls);
        assertThat(listener.told).contains("reconnecting").doesNotContain("replaced");
    }

    private void assertEachExecutedOnce() throws IOException {
        assertThat(server.log())
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, CALLS)
                        .mapToObj(number -> "slow: " + (MILLIS + number) + " ms")
                        .toList());
    }

    @ParameterizedTest
    @EnumSource(CuttingProxy.Cut.class)
    void callsSucceedOnceThroughEachCut(CuttingProxy.Cut cut) throws Exception {
        // the server sends no heartbeats: how long a connection may be silent has to be said
        HoldfastClientTransport transport = cut == CuttingProxy.Cut.HALF_OPEN
                ? holdfast().maxSilence(Duration.ofSeconds(8)).build()
                : holdfast().build();
        McpAsyncClient client = client(transport, Duration.ofSeconds(60));
        List<CompletableFuture<CallToolResult>> calls = calls(client);
        awaitProgress();

        proxy.cut(cut);

        assertNothingMissing(calls);
        client.closeGracefully().block(PATIENCE);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 20})
    void callsSucceedOnceThoughTheServerIsAwayFor(int seconds) throws Exception {
        McpAsyncClient client = client(holdfast().build(), Duration.ofSeconds(60));
        List<CompletableFuture<CallToolResult>> calls = calls(client);
        awaitProgress();

        proxy.refuse();
        proxy.cut(CuttingProxy.Cut.RST);
        await().during(Duration.ofSeconds(seconds))
                .atMost(Duration.ofSeconds(20L + seconds))
                .until(() -> calls.stream().noneMatch(CompletableFuture::isDone));
        proxy.accept();

        assertNothingMissing(calls);
        client.closeGracefully().block(PATIENCE);
    }

    private McpAsyncClient officialClient() {
        return client(
                HttpClientStreamableHttpTransport.builder("http://127.0.0.1:" + proxy.port())
                        .build(),
                OFFICIAL_TIMEOUT);
    }

    /** Every call was executed, and has no answer when the client's time is over. */
    private void assertLost(McpAsyncClient client, List<CompletableFuture<CallToolResult>> calls) throws Exception {
        assertThat(calls).noneMatch(CompletableFuture::isDone);
        for (CompletableFuture<CallToolResult> call : calls) {
            assertThat(call.handle((result, failure) -> failure).get(30, TimeUnit.SECONDS))
                    .isInstanceOf(TimeoutException.class);
        }
        assertThat(progress).hasSizeLessThan(CALLS * STEPS);
        assertEachExecutedOnce();
        assertThat(client.callTool(CallToolRequest.builder("headers").build()).block(PATIENCE))
                .isNotNull();
        client.closeGracefully().timeout(PATIENCE).onErrorComplete().block(); // what it says to the end may be lost too
    }

    /** The control for what follows: the same calls in the same time. */
    @Test
    void officialTransportSucceedsWhereNothingIsCut() throws Exception {
        McpAsyncClient client = officialClient();
        assertAnswered(calls(client));
        client.closeGracefully().block(PATIENCE);
    }

    @ParameterizedTest
    @EnumSource(CuttingProxy.Cut.class)
    void officialTransportLosesWhatIsCut(CuttingProxy.Cut cut) throws Exception {
        McpAsyncClient client = officialClient();
        List<CompletableFuture<CallToolResult>> calls = calls(client);
        awaitProgress();

        proxy.cut(cut);

        assertLost(client, calls);
    }

    @Test
    void officialTransportLosesWhatItHasAskedWhileTheServerIsAway() throws Exception {
        McpAsyncClient client = officialClient();
        List<CompletableFuture<CallToolResult>> calls = calls(client);
        awaitProgress();

        proxy.refuse();
        proxy.cut(CuttingProxy.Cut.RST);
        await().during(Duration.ofSeconds(1))
                .atMost(PATIENCE)
                .until(() -> calls.stream().noneMatch(CompletableFuture::isDone));
        proxy.accept();

        assertLost(client, calls);
    }
}
