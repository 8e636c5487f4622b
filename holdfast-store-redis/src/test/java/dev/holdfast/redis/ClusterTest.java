package dev.holdfast.redis;

import static dev.holdfast.redis.Given.FIRST;
import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.SessionKey;
import dev.holdfast.tck.BusContract;
import dev.holdfast.tck.ConcurrencyContract;
import dev.holdfast.tck.EventsContract;
import dev.holdfast.tck.PrincipalsContract;
import dev.holdfast.tck.SessionsContract;
import dev.holdfast.tck.SharedContract;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The store keeps the contract in a Redis Cluster of three masters too: each script touches one slot. */
class ClusterTest {
    private static final int MASTERS = 3;
    private static final int SLOTS = 16384;
    private static final List<RedisServer> servers = new ArrayList<>();
    /** The ways to them, which they name as their addresses. */
    private static final List<Line> lines = new ArrayList<>();

    private static String url = "";

    @BeforeAll
    static void start() {
        for (int i = 0; i < MASTERS; i++) {
            int port = RedisServer.freeClusterPort();
            Line line = new Line(port);
            lines.add(line);
            servers.add(RedisServer.start(
                    port,
                    List.of(
                            "--cluster-enabled",
                            "yes",
                            "--cluster-announce-ip",
                            "127.0.0.1",
                            "--cluster-announce-port",
                            Integer.toString(line.port()),
                            "--cluster-announce-bus-port",
                            Integer.toString(port + 10_000))));
        }
        for (int i = 0; i < MASTERS; i++) {
            List<String> slots = new ArrayList<>(List.of("CLUSTER", "ADDSLOTS"));
            for (int slot = i * SLOTS / MASTERS; slot < (i + 1) * SLOTS / MASTERS; slot++) {
                slots.add(Integer.toString(slot));
            }
            servers.get(i).command(slots.toArray(String[]::new));
            servers.get(i)
                    .command(
                            "CLUSTER",
                            "MEET",
                            "127.0.0.1",
                            Integer.toString(servers.get(0).port()));
        }
        until(
                "the cluster is whole",
                () -> servers.stream().allMatch(server -> {
                    String info = server.command("CLUSTER", "INFO");
                    return info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:" + MASTERS);
                }));
        url = "redis-cluster://"
                + lines.stream().map(line -> "127.0.0.1:" + line.port()).collect(Collectors.joining(","));
    }

    @AfterAll
    static void stop() {
        lines.forEach(Line::close);
        servers.forEach(RedisServer::close);
        // a nested class that is named for itself starts them again in this JVM
        lines.clear();
        servers.clear();
    }

    /** The others go on answering all the time. */
    @Test
    void aMasterBehindAConnectionThatCarriesNothingIsReachedAgain() {
        List<SessionKey> keys = IntStream.range(0, 4 * MASTERS)
                .mapToObj(number -> SessionKey.of("session " + number, ""))
                .toList();
        try (RedisStore patient = store(Given.PATIENCE)) {
            keys.forEach(key -> await(patient.create(key, FIRST, Given.record(), "node")));
        }
        try (RedisStore hasty = store(Duration.ofSeconds(5))) {
            until("all are reached", () -> reached(hasty, keys) == keys.size());
            lines.get(1).fallSilent();
            assertThat(reached(hasty, keys))
                    .as("not those of the silent master")
                    .isLessThan(keys.size());
            until("all are reached again", () -> reached(hasty, keys) == keys.size());
        }
    }

    private static RedisStore store(Duration timeout) {
        return RedisStore.builder(url).prefix("silent:").timeout(timeout).open();
    }

    /** How many of these sessions can be looked at, all at the same time. */
    private static int reached(RedisStore store, List<SessionKey> keys) {
        List<CompletionStage<?>> looks =
                keys.stream().<CompletionStage<?>>map(store::look).toList();
        return (int) looks.stream().filter(Given::succeeds).count();
    }

    private static RedisBed bed() {
        return new RedisBed(url);
    }

    @Nested
    class Sessions extends SessionsContract {
        Sessions() {
            super(ClusterTest::bed);
        }
    }

    @Nested
    class Events extends EventsContract {
        Events() {
            super(ClusterTest::bed);
        }
    }

    @Nested
    class Concurrency extends ConcurrencyContract {
        Concurrency() {
            super(ClusterTest::bed);
        }
    }

    @Nested
    class Shared extends SharedContract {
        Shared() {
            super(ClusterTest::bed);
        }
    }

    @Nested
    class Principals extends PrincipalsContract {
        Principals() {
            super(ClusterTest::bed);
        }
    }

    @Nested
    class Bus extends BusContract {
        Bus() {
            super(ClusterTest::bed);
        }
    }
}
