package dev.holdfast.redis;

import static dev.holdfast.redis.Given.FIRST;
import static dev.holdfast.redis.Given.KEY;
import static dev.holdfast.redis.Given.all;
import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.succeeds;
import static dev.holdfast.redis.Given.unplaced;
import static dev.holdfast.redis.Given.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.cluster.SharedSessionStore.Appended;
import dev.holdfast.spi.SessionStore.Claim;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;

/** The master dies, sentinels make its replica the master, and the store goes on there. */
class SentinelTest {
    @Test
    void sentinelsMayHaveAPasswordOfTheirOwn() {
        try (RedisServer master = RedisServer.start("--requirepass", "of redis");
                RedisServer sentinel = RedisServer.startSentinel(
                        master, "requirepass of-sentinels", "sentinel auth-pass main \"of redis\"")) {
            RedisStoreBuilder without = sentinels(sentinel);
            assertThatThrownBy(without::open).isInstanceOf(RedisStoreException.class);

            RedisStoreBuilder with = sentinels(sentinel).sentinelCredentials("default", "of-sentinels".toCharArray());
            try (RedisStore store = with.open()) {
                await(store.create(KEY, FIRST, Given.record(), "node"));
            }
        }
    }

    private static RedisStoreBuilder sentinels(RedisServer sentinel) {
        return RedisStore.builder("redis-sentinel://127.0.0.1:" + sentinel.port() + "/0#main")
                .timeout(Duration.ofSeconds(5))
                .credentials("default", "of redis".toCharArray());
    }

    @Test
    void whereThereAreNoSentinelsTheirPasswordIsRefused() {
        RedisStoreBuilder server = RedisStore.builder("redis://user:secret@redis");
        assertThatThrownBy(() -> server.sentinelCredentials("default", new char[] {'p'}))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("redis://redis names no sentinels: their credentials need");
    }

    @Test
    void aUserWithoutANameIsRefused() {
        RedisStoreBuilder sentinels = RedisStore.builder("redis-sentinel://sentinel/0#main");
        for (BiConsumer<String, char[]> knob :
                List.<BiConsumer<String, char[]>>of(sentinels::credentials, sentinels::sentinelCredentials)) {
            assertThatThrownBy(() -> knob.accept("", new char[] {'p'}))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("the user default");
        }
    }

    @Test
    void theStoreGoesOnAtTheNewMaster() {
        try (RedisServer master = RedisServer.start();
                RedisServer replica = RedisServer.start("--replicaof", "127.0.0.1", Integer.toString(master.port()));
                RedisServer sentinel = RedisServer.startSentinel(master)) {
            until(
                    "the sentinel knows the replica",
                    () -> replica.command("INFO", "replication").contains("master_link_status:up")
                            && sentinel.command("INFO", "sentinel").contains("slaves=1"));
            try (RedisStore store = RedisStore.builder("redis-sentinel://127.0.0.1:" + sentinel.port() + "/0#main")
                    .timeout(Duration.ofSeconds(5))
                    .open()) {
                await(store.create(KEY, FIRST, Given.record(), "node"));
                Appended before = await(store.commit(KEY, FIRST, 1, all(unplaced(FIRST, "before"))));
                until(
                        "the replica has it",
                        () -> replica.command("INFO", "keyspace").contains("keys=2"));

                master.kill();
                until(
                        "the store works at the new master",
                        Duration.ofSeconds(90), // a sentinel that stood still does nothing for 30 s
                        () -> succeeds(store.commit(KEY, FIRST, 2, all(unplaced(FIRST, "after")))));

                assertThat(Given.texts(store)).isEqualTo(List.of("before", "after"));
                Claim claim = await(store.join(KEY, 5, "node")).orElseThrow().claim();
                assertThat(claim.last(StreamId.LISTENING)).isGreaterThan(before.listening() + 1000);
                assertThat(claim.certainFrom()).isEqualTo(claim.epoch().counter());
            }
        }
    }
}
