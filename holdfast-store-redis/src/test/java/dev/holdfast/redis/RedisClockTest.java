package dev.holdfast.redis;

import static dev.holdfast.redis.Given.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The clock of a node's machine is far off that of Redis. */
class RedisClockTest {
    private static final Duration LEASE = Duration.ofMinutes(1);

    @AutoClose
    private final RedisServer server = RedisServer.start();

    @AutoClose
    private final LogLines log = new LogLines(RedisClock.class);

    @Test
    void sessionsAreDatedByTheTimeOfRedisAndTheDifferenceIsTold() {
        AtomicReference<Duration> off = new AtomicReference<>(Duration.ofHours(-2));
        RedisStoreBuilder builder = RedisStore.builder(server.url()).timeout(Given.PATIENCE);
        builder.wall = () -> InstantSource.system().instant().plus(off.get());
        try (RedisStore store = builder.open()) {
            assertIsTimeOfRedis(store);
            assertThat(log.all())
                    .singleElement()
                    .asString()
                    .matches("WARN the clock of this machine is 7(199|200) s behind that of redis://127.0.0.1:"
                            + server.port() + ", by which sessions expire: set one of them right");
            await(store.bus().begin("node", LEASE));
            off.set(Duration.ofSeconds(3));
            assertThat(await(store.bus().renew("node", LEASE))).isTrue();
            assertThat(log.all()).hasSize(2).last().asString().startsWith("INFO the clock of this machine agrees");
            assertIsTimeOfRedis(store);
        }
    }

    private void assertIsTimeOfRedis(RedisStore store) {
        long seconds = Long.parseLong(server.command("TIME").lines().findFirst().orElseThrow());
        assertThat(store.clock().orElseThrow().millis() / 1000).isBetween(seconds - 2, seconds + 2);
    }
}
