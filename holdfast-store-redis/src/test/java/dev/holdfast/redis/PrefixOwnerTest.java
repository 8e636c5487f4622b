package dev.holdfast.redis;

import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.failureOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Services that share a Redis do not share their sessions. */
class PrefixOwnerTest {
    private static final Duration LEASE = Duration.ofMinutes(1);

    @AutoClose
    private final RedisServer server = RedisServer.start();

    private RedisStoreBuilder store(String name, String... words) {
        return RedisStore.builder(server.url()).timeout(Given.PATIENCE).belongsTo(name, List.of(words));
    }

    @Test
    void aPrefixOfAnotherServiceIsRefusedByName() {
        store("weather", "a secret").open().close();
        assertThatThrownBy(() -> store("tickets").open())
                .isInstanceOfSatisfying(
                        RedisStoreException.class,
                        refused -> assertThat(refused.belongsToAnother()).isTrue())
                .hasMessage("redis://127.0.0.1:" + server.port()
                        + " keeps under holdfast: the sessions of weather, and this is tickets");
        assertThatThrownBy(() -> store("weather", "another secret").open())
                .hasMessageEndingWith(" the sessions of weather with other arguments");
        assertThat(server.command("HGETALL", "holdfast:{bus}owner")).doesNotContain("secret");
        store("tickets").prefix("tickets:").open().close();
        try (RedisStore one = store("weather", "a secret").open();
                RedisStore two = store("weather", "a secret").open()) {
            await(one.bus().begin("one", LEASE));
            await(two.bus().begin("two", LEASE));
        }
        RedisStore.builder(server.url()).open().close();
    }

    @Test
    void whoTakesAPrefixOverHasItBesideTheOneBefore() {
        RedisStore old = store("weather", "1").open();
        store("weather", "2").takeOver().open().close();
        await(old.bus().begin("old", LEASE));
        old.close();
        store("weather", "1").open().close();
        store("weather", "2").open().close();
        assertThatThrownBy(() -> store("weather", "3").open()).isInstanceOf(RedisStoreException.class);
    }

    @Test
    void ofServicesThatComeAtOnceOneHasThePrefix() {
        for (int round = 0; round < 10; round++) {
            server.command("DEL", "holdfast:{bus}owner");
            List<RedisStore> open = Stream.of("a", "b", "c", "d")
                    .parallel()
                    .map(this::opened)
                    .filter(Objects::nonNull)
                    .toList();
            open.forEach(RedisStore::close);
            assertThat(open).hasSize(1);
        }
    }

    private @Nullable RedisStore opened(String name) {
        try {
            return store(name, name).open();
        } catch (RedisStoreException refused) {
            return null;
        }
    }

    @Test
    void aNodeThatBeginsAnewAfterRedisWasEmptiedLooksAgainWhoseThePrefixIs() {
        try (RedisStore weather = store("weather", "w").open()) {
            await(weather.bus().begin("first", LEASE));
            server.command("DEL", "holdfast:{bus}owner");
            await(weather.bus().begin("second", LEASE));
            assertThatThrownBy(() -> store("tickets", "t").open()).isInstanceOf(RedisStoreException.class);
            server.command("DEL", "holdfast:{bus}owner");
            store("tickets", "t").open().close();
            assertThat(failureOf(weather.bus().begin("third", LEASE)))
                    .rootCause()
                    .hasMessageEndingWith("the sessions of tickets, and this is weather");
        }
    }
}
