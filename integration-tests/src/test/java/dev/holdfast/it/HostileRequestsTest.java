package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Valid traffic, spoiled at random, each request from a seed of its own: refused in words that tell nothing of the server's
 * inside, and nothing is left of it. A failure names the seed and shows the request.
 */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(3600)
@Tag("edge")
class HostileRequestsTest {
    /** How many requests; {@code -Dholdfast.hostile=1000000} for a thorough look. */
    private static final int REQUESTS = Integer.getInteger("holdfast.hostile", 3_000);

    /** Where they begin; {@code -Dholdfast.seed} to see some again. */
    private static final long SEED = Long.getLong("holdfast.seed", 1_000_000_007L);

    private static final int CLIENTS = 96;
    private static final int THREADS = 16;

    private static final int HUNTERS = 6;
    private static final int LARGEST_BODY = 64 << 10;
    private static final Duration PAUSE = Duration.ofMillis(20);
    private static final Duration LIFETIME = Duration.ofSeconds(10);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static final List<String> POOLS =
            List.of("qtp", "http-nio-", "boundedElastic-", "parallel-", "awaitility-");

    private final ContainerKind kind;

    HostileRequestsTest(ContainerKind kind) {
        this.kind = kind;
    }

    @Test
    void hostileRequestsAreRefusedAndLeaveNothing() throws Exception {
        HostileReport report = new HostileReport();
        try (ErrorLog log = new ErrorLog();
                TestServer server = TestServer.in(kind)
                        .threads(THREADS)
                        .writeTimeout(Duration.ofSeconds(5))
                        .options(options -> options.sseEndpoint("/sse")
                                .maxRequestSize(LARGEST_BODY)
                                .heartbeatInterval(Duration.ofSeconds(1))
                                .sessionIdleTimeout(LIFETIME)
                                .sessionReconnectGracePeriod(LIFETIME)
                                // in one container sessions of HTTP+SSE end with their connections, in the other they
                                // wait
                                .sseReconnectGracePeriod(kind == ContainerKind.JETTY ? Duration.ZERO : LIFETIME))
                        .start()) {
            fire(server, report, SEED, REQUESTS / 10);
            int threads = threads().size();

            long start = System.nanoTime();
            try (Bystander bystander = new Bystander(server, PAUSE)) {
                fire(server, report, SEED + REQUESTS / 10, REQUESTS);
                double seconds = (System.nanoTime() - start) / 1e9;
                bystander.assertUnharmed();
                System.out.printf(
                        Locale.ROOT,
                        "%s: %d hostile requests, %.0f a second, answers %s; beside them %d calls and %d notifications; %d warnings%n",
                        kind,
                        report.sent(),
                        REQUESTS / seconds,
                        report.answers(),
                        bystander.called(),
                        bystander.received(),
                        log.warnings());
            }
            assertThat(report.faults()).isEmpty();

            await().atMost(PATIENCE).untilAsserted(() -> {
                assertThat(server.holdfast().engine().size()).isZero();
                assertThat(server.holdfast().openConnections()).isZero();
                assertThat(ServerSockets.of(server.port())).isEmpty();
                assertThat(threads()).hasSizeLessThanOrEqualTo(threads);
            });
            assertThat(log.errors()).isEmpty();
        }
    }

    private static void fire(TestServer server, HostileReport report, long seed, int count) throws Exception {
        HostileLoot loot = new HostileLoot();
        AtomicLong next = new AtomicLong(seed);
        Parallel.times(CLIENTS, Duration.ofHours(1), client -> {
            try (HostileClient hostile =
                    new HostileClient(server.port(), loot, report, next, seed + count, client < HUNTERS)) {
                hostile.run();
            }
        });
    }

    /** The names of all threads but those of pools that start them when they need them, and of whoever waits for this. */
    private static List<String> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> POOLS.stream().noneMatch(name::startsWith))
                .sorted()
                .toList();
    }
}
