package dev.holdfast.redis;

import static dev.holdfast.redis.Given.FIRST;
import static dev.holdfast.redis.Given.KEY;
import static dev.holdfast.redis.Given.all;
import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.failureOf;
import static dev.holdfast.redis.Given.unplaced;
import static dev.holdfast.redis.Given.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.TooLargeException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What Redis, or what stands before it, never takes: it fails, and nothing else does. */
class OversizeTest {
    private static final int MIB = 1 << 20;
    private static final SessionKey OTHER = SessionKey.of("another session", "somebody");

    @AutoClose
    private final LogLines log = new LogLines(LargeCommands.class);

    @AutoClose
    private final LogLines outages = new LogLines(RedisConnections.class);

    @SuppressWarnings("NullAway.Init") // each test starts it
    private RedisServer server;

    @SuppressWarnings("NullAway.Init") // each test starts it
    private Line line;

    @SuppressWarnings("NullAway.Init") // each test starts it
    private RedisStore store;

    private void start(String... settings) {
        server = RedisServer.start(settings);
        line = new Line(server.port());
        store = RedisStore.builder(line.url()).timeout(Given.PATIENCE).open();
        await(store.create(KEY, FIRST, Given.record(), "node"));
        await(store.create(OTHER, FIRST, Given.record(), "node"));
        await(store.bus().begin("node", Duration.ofMinutes(1)));
    }

    @AfterEach
    void stop() {
        store.close();
        line.close();
        server.close();
    }

    private CompletionStage<?> commit(int number, int bytes) {
        return store.commit(KEY, FIRST, number, all(unplaced(FIRST, "x".repeat(bytes))));
    }

    /** Commits of another session meanwhile, all of which succeed. */
    private List<? extends CompletionStage<?>> others(int from) {
        return IntStream.range(from, from + 200)
                .mapToObj(number -> store.commit(OTHER, FIRST, number, all(unplaced(FIRST, "event " + number))))
                .toList();
    }

    /** What is too large fails alone, each time, and what fits behind it is done under its number. */
    private void isRefusedAlone(OptionalLong limit) {
        await(commit(1, 900_000));
        for (int round = 0; round < 3; round++) {
            List<? extends CompletionStage<?>> before = others(1 + 400 * round);
            CompletionStage<?> large = commit(2, 1_500_000);
            List<? extends CompletionStage<?>> behind = others(201 + 400 * round);
            assertThat(failureOf(large))
                    .asInstanceOf(type(TooLargeException.class))
                    .extracting(TooLargeException::limit)
                    .isEqualTo(limit);
            before.forEach(Given::await);
            behind.forEach(Given::await);
            assertThat(await(store.bus().renew("node", Duration.ofMinutes(1)))).isTrue();
        }
        await(commit(2, 900_000));
        assertThat(store.trouble()).isEmpty();
        assertThat(outages.all())
                .as("the connection of all sessions")
                .noneMatch(line -> line.contains("does not answer"));
        assertThat(log.all()).singleElement().asString().startsWith("WARN redis://127.0.0.1:" + line.port());
    }

    @Test
    void aValueOfMoreThanRedisTakesFailsAloneAndTellsTheLimit() {
        start("--proto-max-bulk-len", "1mb");
        isRefusedAlone(OptionalLong.of(MIB));
        assertThat(log.all().get(0)).contains("proto-max-bulk-len");
    }

    @Test
    void aCommandOfMoreThanRedisKeepsOfAClientFailsAloneAndTellsTheLimit() {
        start("--client-query-buffer-limit", "1mb");
        isRefusedAlone(OptionalLong.of(MIB));
        assertThat(log.all().get(0)).contains("client-query-buffer-limit");
    }

    @Test
    void aValueOfMoreThanRedisTakesFailsAloneWhereItsLimitMayNotBeAskedFor() {
        start("--proto-max-bulk-len", "1mb", "--rename-command", "CONFIG", "");
        isRefusedAlone(OptionalLong.empty());
    }

    @Test
    void aProxyThatEndsConnectionsOfLargeCommandsEndsThatOfLargeOnesOnly() {
        start();
        line.endConnectionsOfMoreThan(MIB);
        isRefusedAlone(OptionalLong.empty());
    }

    @Test
    void whatWasRefusedIsNotSentAgainForAWhile() {
        start("--proto-max-bulk-len", "1mb");
        failureOf(commit(1, 1_500_000));
        long sent = line.requested();
        for (int i = 0; i < 20; i++) {
            failureOf(commit(1, 1_500_000));
        }
        assertThat(line.requested()).isEqualTo(sent);
    }

    @Test
    void aLargeValueGetsThroughAnOutage() {
        start();
        await(commit(1, 2 * MIB));
        line.cutRequestAfter(MIB);
        CompletionStage<?> large = commit(2, 2 * MIB);
        await(large);
        server.kill();
        assertThat(failureOf(commit(3, 2 * MIB))).isInstanceOf(RedisStoreException.class);
        server.startAgain();
        until(
                "it is there again",
                () -> Given.succeeds(store.look(KEY)) || store.trouble().isEmpty());
        await(store.create(KEY, FIRST, Given.record(), "node"));
        await(commit(1, 2 * MIB));
    }

    @Test
    void aFullServerIsNoLimitOfAValue() {
        start();
        server.command("CONFIG", "SET", "maxmemory", "1");
        assertThat(failureOf(commit(1, 2 * MIB))).isInstanceOf(RedisStoreException.class);
        assertThat(store.refusal())
                .hasValueSatisfying(words -> assertThat(words).startsWith("OOM"));
        server.command("CONFIG", "SET", "maxmemory", "0");
        await(commit(1, 2 * MIB));
    }
}
