package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Clients come by the thousand, and leave without a word: those who stay lose nothing, and memory has a bound. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(3600)
@Tag("edge")
class StormTest {
    /** How many sessions are opened and left; {@code -Dholdfast.storm=100000} for a thorough look. */
    private static final int STORM = Integer.getInteger("holdfast.storm", 500);

    private static final int LISTENERS = STORM / 5;
    /** Each takes two files of this process. */
    private static final int WAVE = Math.min(2_000, LISTENERS);

    private static final int THREADS = 20;
    private static final int BYSTANDERS = 10;
    /** Each listens, and may have a call open. */
    private static final int MOST_OF_BYSTANDERS = 2 * BYSTANDERS;

    private static final Duration PAUSE = Duration.ofMillis(100);
    private static final Duration HEARTBEAT = Duration.ofSeconds(1);
    /** A node holds no more sessions than this, however many come. */
    private static final int MOST_SESSIONS = 10_000;

    private static final long SESSION_BYTES = 20 << 10;
    private static final long BASE_BYTES = 24 << 20;

    private final ContainerKind kind;

    StormTest(ContainerKind kind) {
        this.kind = kind;
    }

    @Test
    void whoStaysLosesNothingAndMemoryHasABound() throws Exception {
        try (ErrorLog log = new ErrorLog();
                TestServer server = TestServer.in(kind)
                        .options(options -> options.heartbeatInterval(HEARTBEAT))
                        .start()) {
            List<Bystander> bystanders = new ArrayList<>();
            try {
                for (int i = 0; i < BYSTANDERS; i++) {
                    bystanders.add(new Bystander(server, PAUSE));
                }
                long before = heap();

                openAndLeave(server.port());
                long grown = heap() - before;
                int sessions = server.holdfast().engine().size();
                for (int done = 0; done < LISTENERS; done += WAVE) {
                    listenAndVanish(server);
                }

                for (Bystander bystander : bystanders) {
                    bystander.assertUnharmed();
                }
                System.out.printf(
                        "%s: %d sessions opened, %d held, heap grown by %d KB; %d listeners vanished; each bystander got some %d"
                                + " notifications%n",
                        kind,
                        STORM,
                        sessions,
                        grown >> 10,
                        LISTENERS,
                        bystanders.get(0).received());
                assertThat(sessions).isLessThanOrEqualTo(MOST_SESSIONS);
                assertThat(grown).isLessThan(BASE_BYTES + SESSION_BYTES * Math.min(STORM, MOST_SESSIONS));
            } finally {
                bystanders.forEach(Bystander::close);
            }
            await().atMost(HEARTBEAT.multipliedBy(10))
                    .untilAsserted(
                            () -> assertThat(ServerSockets.of(server.port())).isEmpty());
            assertThat(log.errors()).isEmpty();
        }
    }

    /** Every initialize that is not refused in order is answered. */
    private static void openAndLeave(int port) throws Exception {
        AtomicInteger left = new AtomicInteger(STORM);
        byte[] initialize = new HostileRequest("initialize", "POST", "/mcp", Json.initialize(RawSession.NEWEST))
                .with("Host", "localhost")
                .with("Content-Type", "application/json")
                .with("Accept", "application/json, text/event-stream")
                .bytes();
        Parallel.times(THREADS, Duration.ofHours(1), client -> {
            while (left.get() > 0) {
                try (HostileWire wire = new HostileWire(port)) {
                    boolean closes = false;
                    while (!closes && left.getAndDecrement() > 0) {
                        wire.write(initialize);
                        HostileWire.Answer answer = wire.answer("POST").orElseThrow();
                        assertThat(answer.status()).as(answer.body()).isIn(200, 503);
                        closes = answer.closes();
                    }
                }
            }
        });
    }

    /** As many clients as make a wave listen, and leave when all of them are there; within two heartbeats nothing is left. */
    private static void listenAndVanish(TestServer server) throws Exception {
        int port = server.port();
        Queue<RawConnection> there = new ConcurrentLinkedQueue<>();
        Parallel.times(THREADS, Duration.ofMinutes(10), client -> {
            for (int i = 0; i < WAVE / THREADS; i++) {
                RawSession session = RawSession.open(port);
                there.add(session.stream(session.get()));
            }
        });
        assertThat(server.holdfast().openConnections()).isGreaterThanOrEqualTo(there.size());
        int left = 0;
        for (RawConnection connection : there) {
            (left++ % 2 == 0 ? Breakage.FIN : Breakage.RST).happenTo(connection);
        }
        // two heartbeats on an idle machine
        await().atMost(HEARTBEAT.multipliedBy(2).plusSeconds(10))
                .until(() -> server.holdfast().openConnections() <= MOST_OF_BYSTANDERS);
    }

    private static long heap() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
