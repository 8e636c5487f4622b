package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.EngineStats;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Sinks;

/** Many transports in one JVM, each with its listening GET and a call under way. */
@Timeout(600)
class ManyTransportsTest {
    private static final int TRANSPORTS = 1_000;
    private static final int TOGETHER = 50;
    /** What transports may start together: their shared workers, one clock, one selector, and Reactor's threads. */
    private static final int THREADS = 50 * Runtime.getRuntime().availableProcessors();

    private static long threadsOfClients(Set<Thread> before) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> !before.contains(thread))
                .map(Thread::getName)
                .filter(name -> name.startsWith("holdfast-client")
                        || name.startsWith("HttpClient")
                        || name.startsWith("boundedElastic")
                        || name.startsWith("parallel"))
                .count();
    }

    @Test
    void aThousandTransportsListenAndCallOnAFewThreads() throws Exception {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        Sinks.One<String> answer = Sinks.one();
        try (TestServer server = TestServer.in(ContainerKind.JETTY)
                .tool("wait", (exchange, request) -> answer.asMono())
                .start()) {
            List<McpAsyncClient> clients = IntStream.range(0, TRANSPORTS)
                    .mapToObj(number -> McpClient.async(
                                    HoldfastClientTransport.builder("http://127.0.0.1:" + server.port())
                                            .build())
                            .requestTimeout(Duration.ofMinutes(3))
                            .build())
                    .toList();
            Flux.fromIterable(clients)
                    .flatMap(McpAsyncClient::initialize, TOGETHER)
                    .blockLast(Duration.ofMinutes(3));

            CompletableFuture<Long> answers = Flux.fromIterable(clients)
                    .flatMap(
                            client -> client.callTool(CallToolRequest.builder("wait")
                                    .arguments(Map.of("text", "hello"))
                                    .build()),
                            TRANSPORTS)
                    .count()
                    .toFuture();
            EngineStats all = await().atMost(Duration.ofMinutes(3))
                    .until(
                            () -> {
                                answers.getNow(0L); // tells of a call that has failed
                                return server.holdfast().engine().stats();
                            },
                            stats -> stats.connections() == 2 * TRANSPORTS);

            assertThat(all.sessions()).isEqualTo(TRANSPORTS);
            assertThat(threadsOfClients(before)).isLessThan(TRANSPORTS / 4);
            // what the burst has needed ends after 30 s
            await().atMost(Duration.ofSeconds(90))
                    .untilAsserted(() -> assertThat(threadsOfClients(before)).isLessThanOrEqualTo(THREADS));
            answer.tryEmitValue("now").orThrow();
            assertThat(answers.get(180, TimeUnit.SECONDS)).isEqualTo(TRANSPORTS);

            Flux.fromIterable(clients)
                    .flatMap(McpAsyncClient::closeGracefully, TOGETHER)
                    .blockLast(Duration.ofMinutes(3));
            // a client goes though its goodbye was not answered in time
            await().atMost(Duration.ofSeconds(60))
                    .untilAsserted(
                            () -> assertThat(server.holdfast().engine().stats().sessions())
                                    .isZero());
        }
    }
}
