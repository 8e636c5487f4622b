package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.mcp.client.CallOutcomeUnknownException;
import dev.holdfast.mcp.client.ClientListener;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import dev.holdfast.rocksdb.RocksDbStore;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.ErrorCodes;
import io.modelcontextprotocol.spec.McpTransportException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A server that is started again and again under the calls of one client. */
@Timeout(600)
@Execution(ExecutionMode.CONCURRENT)
class ClientTransportRestartTest {
    private static final int RESTARTS = Integer.getInteger("holdfast.restarts", 4);
    /** A JVM takes its time to start. */
    private static final int KILLS = Math.min(RESTARTS, 10);

    private static final int CALLERS = 4;

    private static final List<String> INTERRUPTED = List.of(
            "the server was shut down before this call had ended",
            "the server ended while this call was running; whether it had any effect is not known");

    /** A server's process may take 20 s to start where many tests run on a slow machine. */
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    /** So much later than its patience says a client may be, on a machine that does much else. */
    private static final Duration MARGIN = Duration.ofSeconds(5);

    @TempDir
    Path folder;

    private final Map<String, Integer> executed = new ConcurrentHashMap<>();
    private final AtomicInteger replaced = new AtomicInteger();

    /** A server that was started. */
    private record Running(int port, AutoCloseable end) implements AutoCloseable {
        @Override
        public void close() throws Exception {
            end.close();
        }
    }

    private void execute(String name) {
        executed.merge(name, 1, Integer::sum);
    }

    private Running holdfast() throws Exception {
        TestServer server = TestServer.in(ContainerKind.JETTY)
                .options(options ->
                        options.heartbeatInterval(Duration.ofSeconds(1)).retryInterval(Duration.ofMillis(50)))
                .tool(new CountingTools(this::execute).count())
                .start();
        return new Running(server.port(), server);
    }

    private Running official() throws Exception {
        OfficialServer server = OfficialServer.start(new CountingTools(this::execute).count());
        return new Running(server.port(), server);
    }

    private Running officialOverHttpSse() throws Exception {
        OfficialSseServer server = OfficialSseServer.start(new CountingTools(this::execute).count());
        return new Running(server.port(), server);
    }

    private Running durable() throws Exception {
        RocksDbStore store = RocksDbStore.builder(folder).open();
        TestServer server = DurableServer.on(store, this::execute).start();
        return new Running(server.port(), () -> {
            server.close();
            store.close();
        });
    }

    private Running killable(Path notes) throws Exception {
        DurableServer server = DurableServer.start(folder.resolve("store"), notes);
        return new Running(server.port(), server);
    }

    private HoldfastClientTransport transport(CuttingProxy proxy, String endpoint) {
        return HoldfastClientTransport.builder("http://127.0.0.1:" + proxy.port())
                .endpoint(endpoint)
                .patience(PATIENCE)
                .listener(new ClientListener() {
                    @Override
                    public void onSessionReplaced() {
                        replaced.incrementAndGet();
                    }
                })
                .build();
    }

    /** Calls that go on while the server is started again and again, once they have ended: all of them within the client's patience. */
    private List<RestartLoad.Ended> calls(String what, Plan plan) throws Exception {
        Running server = plan.start.call();
        try (CuttingProxy proxy = CuttingProxy.to(server.port());
                CutClients client = new CutClients(transport(proxy, plan.endpoint), PATIENCE.multipliedBy(2))) {
            list(client);
            RestartLoad load = new RestartLoad(client, plan.tools);
            for (int i = 0; i < plan.times; i++) {
                load.awaitResults(1);
                list(client); // what a process has not said of its tools it need not know when it ends
                load.awaitResults(2);
                proxy.refuse();
                plan.before.accept(proxy);
                server.close();
                server = plan.start.call();
                proxy.leadTo(server.port());
                proxy.accept();
            }
            load.awaitResults(2);
            List<RestartLoad.Ended> ended = load.end(what + ", started again " + plan.times + " times");
            assertThat(load.longest()).isLessThan(PATIENCE.plus(MARGIN));
            return ended;
        } finally {
            server.close();
        }
    }

    private static void list(CutClients client) {
        client.client().listTools().block(PATIENCE);
    }

    /**
     * How the server is started and ended.
     *
     * @param before what happens to the client's connections before the server ends
     */
    private record Plan(
            Callable<Running> start,
            int times,
            String endpoint,
            Map<String, Integer> tools,
            Consumer<CuttingProxy> before) {
        /** One that forgets its sessions: its end and its start are one for the client. */
        static Plan forgetful(Callable<Running> start, String endpoint, int callers) {
            return new Plan(
                    start, RESTARTS, endpoint, Map.of("count", callers), proxy -> proxy.cut(CuttingProxy.Cut.RST));
        }

        /** One on disk. */
        static Plan durable(Callable<Running> start, int times) {
            return new Plan(start, times, "/mcp", Map.of("count", CALLERS / 2, "read", CALLERS / 2), proxy -> {});
        }
    }

    private static Stream<RestartLoad.Ended> failed(List<RestartLoad.Ended> calls) {
        return calls.stream().filter(call -> call.failure() != null);
    }

    private void assertOutcomesUnknown(List<RestartLoad.Ended> calls) {
        assertThat(failed(calls))
                .allSatisfy(call -> assertThat(call.failure()).isInstanceOf(CallOutcomeUnknownException.class));
        assertThat(executed.values()).allMatch(times -> times == 1);
        await().untilAsserted(
                        () -> assertThat(replaced).hasValue(RESTARTS)); // told after the calls that waited were sent
    }

    @Test
    void everyCallHasAnEndThoughTheServerForgetsItsSessions() throws Exception {
        assertOutcomesUnknown(calls("Holdfast in memory", Plan.forgetful(this::holdfast, "/mcp", CALLERS)));
    }

    @Test
    void everyCallHasAnEndThoughTheOfficialServerForgetsItsSessions() throws Exception {
        assertOutcomesUnknown(calls("the official server", Plan.forgetful(this::official, "/mcp", CALLERS)));
    }

    /**
     * This server answers 500 where a stream breaks under a message that it handles. It mixes up answers that it writes at the same time,
     * so there is one call at a time.
     */
    @Test
    void everyCallHasAnEndThoughTheOfficialServerOverHttpSseForgetsItsSessions() throws Exception {
        List<RestartLoad.Ended> calls =
                calls("the official server over HTTP+SSE", Plan.forgetful(this::officialOverHttpSse, "/sse", 1));
        assertThat(failed(calls))
                .allSatisfy(call -> assertThat(call.failure()).isInstanceOf(McpTransportException.class));
        assertThat(executed.values()).allMatch(times -> times == 1);
        assertThat(replaced).hasPositiveValue();
    }

    /**
     * What only reads has its result always. Of anything else that the end has interrupted the client says so: the server has told it, or
     * the connection broke before the head of the response. A request whose body had not arrived is refused.
     */
    private void assertHeld(List<RestartLoad.Ended> calls) {
        assertThat(calls)
                .filteredOn(call -> call.tool().equals("read"))
                .isNotEmpty()
                .allSatisfy(call -> assertThat(call.failure()).isNull());
        assertThat(failed(calls)).allSatisfy(call -> {
            if (call.failure() instanceof McpError error) {
                assertThat(error.getJsonRpcError().code()).isEqualTo(ErrorCodes.INTERNAL_ERROR);
                assertThat(error.getJsonRpcError().message()).isIn(INTERRUPTED);
            } else if (!(call.failure() instanceof CallOutcomeUnknownException)) {
                assertThat(call.failure()).isInstanceOf(McpTransportException.class);
                assertThat(executed).doesNotContainKey(call.name());
            }
        });
        assertThat(calls)
                .filteredOn(call -> call.failure() == null)
                .allSatisfy(call -> assertThat(executed).containsKey(call.name()));
        assertThat(executed)
                .allSatisfy((name, times) ->
                        assertThat(name.startsWith("read") || times == 1).isTrue());
        assertThat(replaced).hasValue(0);
    }

    @Test
    void everyCallIsAnsweredWhereTheServerKeepsItsSessions() throws Exception {
        assertHeld(calls("Holdfast on disk", Plan.durable(this::durable, RESTARTS)));
    }

    @Test
    void everyCallIsAnsweredThoughTheServerIsKilled() throws Exception {
        Path notes = folder.resolve("notes");
        List<RestartLoad.Ended> calls = calls("Holdfast on disk, killed", Plan.durable(() -> killable(notes), KILLS));
        Files.readAllLines(notes).forEach(this::execute);
        assertHeld(calls);
        // of each caller of what may not be repeated: what ran when it died, and what was sent in that moment
        assertThat(failed(calls).count()).isLessThanOrEqualTo((long) KILLS * CALLERS);
    }
}
