package dev.holdfast.redis;

import static dev.holdfast.redis.Given.until;

import dev.holdfast.tck.BusContract;
import dev.holdfast.tck.ConcurrencyContract;
import dev.holdfast.tck.PrincipalsContract;
import dev.holdfast.tck.SessionsContract;
import dev.holdfast.tck.SharedContract;
import dev.holdfast.tck.SharedReadersContract;
import dev.holdfast.tck.TrimContract;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;

/** The store keeps the contract in a Redis Cluster of three masters too: each script touches one slot. */
class ClusterTest {
    private static final int MASTERS = 3;
    private static final int SLOTS = 16384;
    private static final List<RedisServer> servers = new ArrayList<>();
    private static String url = "";

    @BeforeAll
    static void start() {
        for (int i = 0; i < MASTERS; i++) {
            servers.add(RedisServer.start(RedisServer.freeClusterPort(), List.of("--cluster-enabled", "yes")));
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
                + servers.stream().map(server -> "127.0.0.1:" + server.port()).collect(Collectors.joining(","));
    }

    @AfterAll
    static void stop() {
        servers.forEach(RedisServer::close);
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
    class Trim extends TrimContract {
        Trim() {
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
    class SharedReaders extends SharedReadersContract {
        SharedReaders() {
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
