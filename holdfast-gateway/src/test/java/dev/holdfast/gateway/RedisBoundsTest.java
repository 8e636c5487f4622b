package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.NodeLimits;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.RedisStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A stranger lets a node keep as much in Redis as it likes: as much as the node may have, ten times what it may have in memory. */
@Timeout(120)
class RedisBoundsTest {
    private static final int SESSIONS = 4;
    private static final int HISTORY = 1_000_000;
    /** What each flood leaves, as messages of 50 kB for a client that never listens. */
    private static final String FLOOD = "flood7";

    private static final int MOST = 11 * HISTORY;
    private static final String[] ALICE = {"Authorization", "Bearer alice-0123456789abcdef"};
    private static final String[] BOB = {"Authorization", "Bearer bob-0123456789abcdef00"};

    private final RedisServer redis = RedisServer.start();

    @TempDir
    private Path folder;

    @AfterEach
    void stop() {
        redis.close();
    }

    private TestGateway gateway(String... words) {
        StoreChoice store = new StoreChoice.Redis(
                RedisStore.builder(redis.url()).timeout(Wait.PATIENCE),
                new StoreChoice.Node("one", Wait.PATIENCE.plusSeconds(10)));
        List<String> all = new ArrayList<>(List.of("--max-children", String.valueOf(2 * SESSIONS)));
        all.addAll(List.of(words));
        return new TestGateway(
                store,
                NodeLimits.DEFAULT.withSessions(SESSIONS).withHistory(HISTORY, 100_000),
                all.toArray(String[]::new));
    }

    private long used() {
        return Long.parseLong(redis.command("INFO", "memory").replaceAll("(?s).*used_memory:(\\d+).*", "$1"));
    }

    private int sessions() {
        return Integer.parseInt(redis.command(
                "EVAL", "return #redis.call('KEYS', 'holdfast:{???????????????????????????????????????????}')", "0"));
    }

    /** One session after the other leaves as much as it can. */
    private void floods(TestGateway gateway, int count, String... principal) {
        for (int i = 0; i < count; i++) {
            HttpPeer peer = HttpPeer.connectedAtLast(gateway.url(), principal);
            assertThat(flood(peer)).isEqualTo(200);
        }
    }

    private static int flood(HttpPeer peer) {
        return peer.post("{'jsonrpc':'2.0','id':7,'method':'" + FLOOD + "'}").statusCode();
    }

    @Test
    void aStrangerWhoLeavesMuchInEachSessionFillsNoMoreOfRedisThanTheNodeMayPark() {
        long before = used();
        try (TestGateway gateway = gateway()) {
            floods(gateway, 60);
            assertThat(used() - before).isBetween(HISTORY * 5L, MOST + HISTORY * 2L);
            assertThat(sessions()).isLessThanOrEqualTo(11 * SESSIONS);
        }
    }

    @Test
    void oneSessionThatComesBackAndLeavesMoreEachTimeDoesNotFillIt() {
        long before = used();
        try (TestGateway gateway = gateway()) {
            HttpPeer[] peers = new HttpPeer[2 * SESSIONS];
            for (int round = 0; round < 120; round++) {
                int at = round % peers.length;
                if (peers[at] == null || flood(peers[at]) == 404) {
                    peers[at] = HttpPeer.connectedAtLast(gateway.url());
                }
            }
            assertThat(used() - before).isLessThan(MOST + HISTORY * 2L);
        }
    }

    @Test
    void aPrincipalFillsItsShareAndAnotherOneStillParks() throws IOException {
        Path tokens = Files.writeString(
                folder.resolve("tokens"), "alice alice-0123456789abcdef\nbob bob-0123456789abcdef00\n");
        long before = used();
        try (TestGateway gateway = gateway("--auth-token-file", tokens.toString())) {
            floods(gateway, 40, ALICE);
            assertThat(used() - before).isLessThan(MOST / 2 + HISTORY * 2L);
            HttpPeer bob = HttpPeer.connectedAtLast(gateway.url(), BOB);
            assertThat(flood(bob)).isEqualTo(200);
            floods(gateway, 2 * SESSIONS, ALICE);
            assertThat(bob.post("{'jsonrpc':'2.0','id':8,'method':'ping'}").statusCode())
                    .isEqualTo(200);
        }
    }
}
