package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import javax.management.JMException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/**
 * Clients of the stateless revision are gone in the middle of their calls: the handler of each is cancelled, and nothing of them is left.
 * {@code -Dholdfast.vanished=1000} asks for as many as that.
 */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(240)
class VanishedCallsTest {
    private static final int CLIENTS = Integer.getInteger("holdfast.vanished", 100);
    private static final int FIRST = 20;
    private static final Duration CANCELLED = Duration.ofSeconds(10);
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int CONTAINER_THREADS = 8;
    /** Those of the container, and what writes late heads. */
    private static final int MORE_THREADS = CONTAINER_THREADS + 9;

    private static final List<String> CAPABILITIES =
            List.of("{}", "{\"elicitation\":{}}", "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}");
    /** What there is once for each connection, session or call. */
    private static final List<String> OF_EACH =
            List.of("LiveSession", "LiveCall", "Carrier", "ModernCall", "SseConnection", "Exchange", "StreamCursor");

    private final ContainerKind kind;
    private final AtomicInteger running = new AtomicInteger();
    private final AtomicInteger cancelled = new AtomicInteger();
    private TestServer server;

    VanishedCallsTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .threads(CONTAINER_THREADS)
                .edge(edge -> edge.taskAfter(Duration.ofMinutes(5)))
                .tool("wait", (exchange, request) -> {
                    running.incrementAndGet();
                    return Mono.<String>never().doOnCancel(cancelled::incrementAndGet);
                })
                .start();
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    /** So many clients come, and are gone; returns after how many milliseconds the last call was cancelled. */
    private long vanish(int clients) {
        List<RawConnection> connections = new ArrayList<>();
        int before = running.get();
        for (int client = 0; client < clients; client++) {
            connections.add(RawConnection.open(server.port())
                    .send(RawRequest.modernCall("wait", CAPABILITIES.get(client % CAPABILITIES.size()), "x")));
        }
        await().atMost(PATIENCE).until(() -> running.get() == before + clients);
        long since = System.nanoTime();
        int client = 0;
        for (RawConnection connection : connections) {
            (client++ % 2 == 0 ? Breakage.RST : Breakage.FIN).happenTo(connection);
        }
        await().atMost(CANCELLED).until(() -> cancelled.get() == before + clients);
        return (System.nanoTime() - since) / 1_000_000;
    }

    private static Map<String, Integer> moreThan(LiveObjects before) throws JMException {
        return LiveObjects.now().moreThan(before).entrySet().stream()
                .filter(more -> OF_EACH.stream().anyMatch(name -> more.getKey().endsWith("." + name)))
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
    }

    private void assertNobodyIsThere() {
        await().atMost(PATIENCE).until(() -> server.holdfast().engine().size() == 0);
        await().atMost(PATIENCE).until(() -> server.holdfast().openConnections() == 0);
        assertThat(server.holdfast().engine().stats().runningCalls()).isZero();
        assertThat(server.holdfast().engine().stats().historyBytes()).isZero();
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(ServerSockets.of(server.port())).isEmpty());
    }

    @Test
    void theCallOfEachIsCancelledAndNothingOfItIsLeft() throws Exception {
        vanish(FIRST);
        assertNobodyIsThere();
        LiveObjects before = LiveObjects.now();
        int threads = ManagementFactory.getThreadMXBean().getThreadCount();

        long millis = vanish(CLIENTS);

        assertNobodyIsThere();
        await().atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(500))
                .untilAsserted(() -> assertThat(moreThan(before)).isEmpty());
        assertThat(ManagementFactory.getThreadMXBean().getThreadCount()).isLessThanOrEqualTo(threads + MORE_THREADS);
        System.out.printf("%s: %d clients vanished, all calls were cancelled after %d ms%n", kind, CLIENTS, millis);
    }
}
