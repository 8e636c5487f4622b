package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.mcp.client.CallOutcomeUnknownException;
import dev.holdfast.mcp.client.ClientListener;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import dev.holdfast.rocksdb.RocksDbStore;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpTransportException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import reactor.core.publisher.Mono;

/** A server that is started again and again under the calls of one client. */
@Tag("sdk")
@Timeout(600)
@Execution(ExecutionMode.CONCURRENT)
class ClientTransportRestartTest {
    private static final int RESTARTS = Integer.getInteger("holdfast.restarts", 4);
    private static final int CALLERS = 4;

    @TempDir
    Path folder;

    private final Map<String, Integer> executed = new ConcurrentHashMap<>();
    private final List<Throwable> failures = new CopyOnWriteArrayList<>();
    private final AtomicInteger replaced = new AtomicInteger();
    private final AtomicInteger answered = new AtomicInteger();
    private final AtomicInteger number = new AtomicInteger();
    private volatile boolean over;

    private TestServer.Builder server() {
        return TestServer.in(ContainerKind.JETTY)
                .options(options ->
                        options.heartbeatInterval(Duration.ofSeconds(1)).retryInterval(Duration.ofMillis(50)))
                .tool("count", this::count);
    }

    private Mono<String> count(McpAsyncServerExchange exchange, CallToolRequest request) {
        String name = Tools.textOf(request);
        return Mono.fromSupplier(() -> executed.merge(name, 1, Integer::sum))
                .delayElement(Duration.ofMillis(20))
                .map(times -> name);
    }

    /** Calls again as soon as there is an answer, until the test is over. */
    private CompletableFuture<Void> caller(CutClients client) {
        if (over) {
            return CompletableFuture.completedFuture(null);
        }
        String name = "call-" + number.incrementAndGet();
        return client.call("count", name)
                .handleAsync((text, failure) -> {
                    if (failure == null) {
                        assertThat(text).isEqualTo(name);
                        answered.incrementAndGet();
                    } else {
                        failures.add(
                                failure instanceof CompletionException && failure.getCause() != null
                                        ? failure.getCause()
                                        : failure);
                    }
                    return name;
                })
                .thenCompose(done -> caller(client));
    }

    private HoldfastClientTransport transport(CuttingProxy proxy, String endpoint) {
        return HoldfastClientTransport.builder("http://127.0.0.1:" + proxy.port())
                .endpoint(endpoint)
                .patience(Duration.ofSeconds(30))
                .listener(new ClientListener() {
                    @Override
                    public void onSessionReplaced() {
                        replaced.incrementAndGet();
                    }
                })
                .build();
    }

    /** Whether so many more calls were answered. */
    private void awaitAnswers(int more) {
        int before = answered.get();
        await().atMost(Duration.ofSeconds(40)).until(() -> answered.get() >= before + more);
    }

    private void end(List<CompletableFuture<Void>> callers) throws Exception {
        over = true;
        for (CompletableFuture<Void> caller : callers) {
            caller.get(40, TimeUnit.SECONDS);
        }
        assertThat(executed.values()).allMatch(times -> times == 1);
        assertThat(answered.get() + failures.size()).isEqualTo(number.get());
    }

    private static List<CompletableFuture<Void>> callers(Supplier<CompletableFuture<Void>> caller, int atOnce) {
        return Stream.generate(caller).limit(atOnce).toList();
    }

    /** A server that forgets its sessions when it ends. */
    private record Forgetful(int port, AutoCloseable end) implements AutoCloseable {
        @Override
        public void close() throws Exception {
            end.close();
        }
    }

    private Forgetful holdfast() throws Exception {
        TestServer server = server().start();
        return new Forgetful(server.port(), server);
    }

    private Forgetful official() throws Exception {
        OfficialSseServer server = OfficialSseServer.start(Tools.tool("count", this::count));
        return new Forgetful(server.port(), server);
    }

    @Test
    void everyCallHasAnEndThoughTheServerForgetsItsSessions() throws Exception {
        assertEveryCallHasAnEnd(this::holdfast, "/mcp", CALLERS);
        assertThat(failures).allMatch(failure -> failure instanceof CallOutcomeUnknownException);
        await().untilAsserted(
                        () -> assertThat(replaced).hasValue(RESTARTS)); // told after the calls that waited were sent
    }

    /**
     * This server answers 500 where a stream breaks under a message that it handles. It mixes up answers that it writes at the same time,
     * so there is one call at a time.
     */
    @Test
    void everyCallHasAnEndThoughTheOfficialServerOverHttpSseForgetsItsSessions() throws Exception {
        assertEveryCallHasAnEnd(this::official, "/sse", 1);
        assertThat(failures)
                .allMatch(failure ->
                        failure instanceof CallOutcomeUnknownException || failure instanceof McpTransportException);
        assertThat(replaced).hasPositiveValue();
    }

    private void assertEveryCallHasAnEnd(Callable<Forgetful> start, String endpoint, int callersAtOnce)
            throws Exception {
        Forgetful server = start.call();
        try (CuttingProxy proxy = CuttingProxy.to(server.port());
                CutClients client = new CutClients(transport(proxy, endpoint), Duration.ofSeconds(60))) {
            List<CompletableFuture<Void>> callers = callers(() -> caller(client), callersAtOnce);
            for (int i = 0; i < RESTARTS; i++) {
                awaitAnswers(5);
                proxy.refuse();
                proxy.cut(CuttingProxy.Cut.RST);
                server.close();
                server = start.call();
                proxy.leadTo(server.port());
                proxy.accept();
            }
            awaitAnswers(5);
            end(callers);
        } finally {
            server.close();
        }
    }

    @Test
    void everyCallIsAnsweredWhereTheServerKeepsItsSessions() throws Exception {
        RocksDbStore store = RocksDbStore.builder(folder).open();
        TestServer server = durable(store).start();
        try (CuttingProxy proxy = CuttingProxy.to(server.port());
                CutClients client = new CutClients(transport(proxy, "/mcp"), Duration.ofSeconds(60))) {
            List<CompletableFuture<Void>> callers = callers(() -> caller(client), CALLERS);
            for (int i = 0; i < RESTARTS; i++) {
                awaitAnswers(5);
                proxy.refuse();
                server.close();
                store.close();
                store = RocksDbStore.builder(folder).open();
                server = durable(store).start();
                proxy.leadTo(server.port());
                proxy.accept();
            }
            awaitAnswers(5);
            end(callers);
        } finally {
            server.close();
            store.close();
        }
        // nobody knows whether a call was executed whose connection broke before the head of its response; one whose
        // body had not arrived is refused
        assertThat(failures)
                .allMatch(failure -> failure instanceof McpError
                        || failure instanceof CallOutcomeUnknownException
                        || failure instanceof McpTransportException);
        assertThat(replaced).hasValue(0);
    }

    private TestServer.Builder durable(RocksDbStore store) {
        return server().options(options -> options.heartbeatInterval(Duration.ofSeconds(1))
                .retryInterval(Duration.ofMillis(50))
                .store(store));
    }
}
