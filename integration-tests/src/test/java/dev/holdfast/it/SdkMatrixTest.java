package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.mcp.client.ClientListener;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import dev.holdfast.rocksdb.RocksDbStore;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The table in {@code docs/java-sdk.md}: what holds with each version of the SDK, in each container, over each protocol. */
@Tag("jdk")
@Tag("sdk")
@ParameterizedClass
@MethodSource("everywhere")
@Timeout(60)
@Execution(ExecutionMode.CONCURRENT)
class SdkMatrixTest {
    private static final int STEPS = 10;
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final ContainerKind kind;
    private final Protocol protocol;
    private final List<Integer> told = new CopyOnWriteArrayList<>();
    private final AtomicInteger executed = new AtomicInteger();
    private final AtomicInteger replaced = new AtomicInteger();
    private final LifecycleRecorder lifecycle = new LifecycleRecorder();

    @TempDir
    Path folder;

    private RocksDbStore store;
    private TestServer server;
    private CuttingProxy proxy;

    /** What a client and a server speak. */
    enum Protocol {
        STREAMABLE_HTTP,
        HTTP_SSE
    }

    /** Whose transport a client has. */
    enum Client {
        OFFICIAL {
            @Override
            @SuppressWarnings("deprecation") // as HTTP+SSE is
            McpClientTransport transport(SdkMatrixTest test, String url) {
                return test.protocol == Protocol.HTTP_SSE
                        ? HttpClientSseClientTransport.builder(url).build()
                        : HttpClientStreamableHttpTransport.builder(url).build();
            }
        },
        HOLDFAST {
            @Override
            McpClientTransport transport(SdkMatrixTest test, String url) {
                return HoldfastClientTransport.builder(url)
                        .endpoint(test.protocol == Protocol.HTTP_SSE ? "/sse" : "/mcp")
                        .protocol(HoldfastClientTransport.Protocol.valueOf(test.protocol.name()))
                        .listener(new ClientListener() {
                            @Override
                            public void onSessionReplaced() {
                                test.replaced.incrementAndGet();
                            }
                        })
                        .build();
            }
        };

        abstract McpClientTransport transport(SdkMatrixTest test, String url);
    }

    SdkMatrixTest(ContainerKind kind, Protocol protocol) {
        this.kind = kind;
        this.protocol = protocol;
    }

    static Stream<Arguments> everywhere() {
        return Stream.of(ContainerKind.values())
                .flatMap(kind -> Stream.of(Protocol.values()).map(protocol -> Arguments.of(kind, protocol)));
    }

    @BeforeEach
    void start() throws Exception {
        open();
        proxy = CuttingProxy.to(server.port());
    }

    private void open() throws Exception {
        store = RocksDbStore.builder(folder).open();
        server = TestServer.in(kind)
                .options(options -> options.store(store)
                        .sseEndpoint("/sse")
                        .sseReconnectGracePeriod(PATIENCE)
                        .heartbeatInterval(Duration.ofMillis(500))
                        .retryInterval(Duration.ofMillis(50))
                        .sessionLifecycleListener(lifecycle))
                .tool(Tools.reading("work", this::work))
                .tool(
                        "ask",
                        (exchange, request) -> Tools.ask(exchange, "What is it?")
                                .map(answer -> String.valueOf(answer.content().get("text"))))
                .start();
    }

    private Mono<String> work(McpAsyncServerExchange exchange, CallToolRequest request) {
        executed.incrementAndGet();
        return Flux.range(1, STEPS)
                .delayElements(Duration.ofMillis(100))
                .concatMap(step -> Tools.progress(exchange, request, step))
                .then(Mono.just("worked"));
    }

    @AfterEach
    void stop() throws Exception {
        proxy.close();
        stopServer();
    }

    private McpAsyncClient client(Client of, CompletableFuture<String> answer) {
        return SdkClients.open(
                of.transport(this, "http://127.0.0.1:" + proxy.port()),
                PATIENCE.multipliedBy(2),
                question -> answer,
                told);
    }

    private static CompletableFuture<String> call(McpAsyncClient client, String tool) {
        return SdkClients.call(client, tool, "hello");
    }

    private static List<Integer> allSteps() {
        return IntStream.rangeClosed(1, STEPS).boxed().toList();
    }

    @ParameterizedTest
    @EnumSource
    void aClientListsCallsHearsOfProgressAndIsAsked(Client of) {
        McpAsyncClient client = client(of, CompletableFuture.completedFuture("forty-two"));

        assertThat(client.listTools()
                        .map(result -> result.tools().stream().map(Tool::name).toList())
                        .block(PATIENCE))
                .containsExactlyInAnyOrder("echo", "work", "ask");
        assertThat(call(client, "echo")).succeedsWithin(PATIENCE).isEqualTo("hello");
        assertThat(call(client, "ask")).succeedsWithin(PATIENCE).isEqualTo("forty-two");
        assertThat(call(client, "work")).succeedsWithin(PATIENCE).isEqualTo("worked");
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(told).isEqualTo(allSteps()));
        client.closeGracefully().block(PATIENCE);
    }

    @Test
    void aCallThatIsCutIsResumedAndNothingIsMissing() {
        McpAsyncClient client = client(Client.HOLDFAST, new CompletableFuture<>());
        CompletableFuture<String> working = call(client, "work");
        await().atMost(PATIENCE).until(() -> told.size() >= 2);

        proxy.cut(CuttingProxy.Cut.RST);

        assertThat(working).succeedsWithin(PATIENCE).isEqualTo("worked");
        assertThat(told).isEqualTo(allSteps());
        assertThat(executed).hasValue(1);
        assertThat(proxy.cuts()).isPositive();
        client.closeGracefully().block(PATIENCE);
    }

    @Test
    void aQuestionOutlivesTheConnectionThatCarriedIt() {
        CompletableFuture<String> answer = new CompletableFuture<>();
        McpAsyncClient client = client(Client.HOLDFAST, answer);
        CompletableFuture<String> asking = call(client, "ask");
        await().atMost(PATIENCE).until(() -> answer.getNumberOfDependents() > 0);

        proxy.cut(CuttingProxy.Cut.RST);
        answer.complete("forty-two");

        assertThat(asking).succeedsWithin(PATIENCE).isEqualTo("forty-two");
        client.closeGracefully().block(PATIENCE);
    }

    @Test
    void aCallHasItsResultThoughTheServerIsStartedAgain() throws Exception {
        McpAsyncClient client = client(Client.HOLDFAST, new CompletableFuture<>());
        client.listTools().block(PATIENCE); // by this the server knows that the tool only reads
        CompletableFuture<String> working = call(client, "work");
        await().atMost(PATIENCE).until(() -> told.size() >= 2);

        proxy.refuse();
        stopServer();
        open();
        proxy.leadTo(server.port());
        proxy.accept();

        assertThat(working).succeedsWithin(PATIENCE).isEqualTo("worked");
        assertThat(call(client, "echo")).succeedsWithin(PATIENCE).isEqualTo("hello");
        assertThat(lifecycle.restored()).hasSize(1);
        assertThat(replaced).hasValue(0);
        client.closeGracefully().block(PATIENCE);
    }

    private void stopServer() throws Exception {
        server.close();
        store.close();
    }
}
