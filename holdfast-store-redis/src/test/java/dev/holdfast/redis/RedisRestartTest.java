package dev.holdfast.redis;

import static dev.holdfast.redis.Given.CALL;
import static dev.holdfast.redis.Given.FIRST;
import static dev.holdfast.redis.Given.KEY;
import static dev.holdfast.redis.Given.all;
import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.failureOf;
import static dev.holdfast.redis.Given.succeeds;
import static dev.holdfast.redis.Given.unplaced;
import static dev.holdfast.redis.Given.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.cluster.SharedSessionStore.Appended;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Claim;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.SessionStore.Look;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Redis is killed and starts again, with all it had, with less, or with nothing. */
class RedisRestartTest {
    private static final String[] APPEND_ONLY = {"--appendonly", "yes", "--appendfsync", "always"};
    private static final Duration LEASE = Duration.ofMinutes(1);

    private static RedisStore open(RedisServer server) {
        RedisStore store =
                RedisStore.builder(server.url()).timeout(Given.PATIENCE).open();
        await(store.create(KEY, FIRST, Given.record(), "node"));
        return store;
    }

    private static Appended commit(RedisStore store, Epoch epoch, long number, String text) {
        return await(store.commit(KEY, epoch, number, all(unplaced(epoch, text))));
    }

    private static void restart(RedisServer server, RedisStore store) {
        server.kill();
        until("it is noticed", () -> !succeeds(store.look(KEY)));
        server.startAgain();
        until("the store works again", () -> succeeds(store.look(KEY)));
    }

    private static Claim join(RedisStore store) {
        return await(store.join(KEY, 5, "node")).orElseThrow().claim();
    }

    @Test
    void withAnAppendOnlyFileNothingIsLostAndCommitsGoOn() {
        try (RedisServer server = RedisServer.start(APPEND_ONLY);
                RedisStore store = open(server)) {
            await(store.bus().begin("node", LEASE));
            for (int number = 1; number <= 100; number++) {
                commit(store, FIRST, number, "event " + number);
            }
            restart(server, store);
            assertThat(await(store.bus().renew("node", LEASE))).isTrue();
            assertThat(Given.texts(store)).hasSize(100);
            // what Redis had done, but the node may not know, is not done again
            commit(store, FIRST, 100, "event 100");
            commit(store, FIRST, 101, "event 101");
            assertThat(Given.texts(store)).hasSize(101).endsWith("event 100", "event 101");
        }
    }

    @Test
    void noOffsetIsGivenTwiceAfterRedisHasLostTheLastOnes() {
        try (RedisServer server = RedisServer.start();
                RedisStore store = open(server)) {
            Epoch other = join(store).epoch();
            commit(store, FIRST, 1, "kept");
            server.command("SAVE");
            Appended lost = commit(store, FIRST, 2, "lost");
            restart(server, store);

            // the one whose commit was not lost goes on, though it cannot know what was delivered
            Appended next = commit(store, other, 1, "next");
            assertThat(next.listening()).isGreaterThan(lost.listening() + 1000);
            assertThat(Given.texts(store)).containsExactly("kept", "next");
            Throwable refused = failureOf(store.commit(KEY, FIRST, 3, all(unplaced(FIRST, "late"))));
            assertThat(refused).isInstanceOf(StaleEpochException.class);

            Claim again = join(store);
            assertThat(again.certainFrom()).isEqualTo(again.epoch().counter());
            long missed = Objects.requireNonNull(again.streams().get(StreamId.LISTENING))
                    .trimmed();
            assertThat(missed).isGreaterThanOrEqualTo(lost.listening()).isLessThan(next.listening());
            assertThat(join(store).certainFrom()).isEqualTo(again.certainFrom());
        }
    }

    @Test
    void theNameOfAStreamThatRedisHasLostWithItsJoinDoesNotComeAgain() {
        try (RedisServer server = RedisServer.start();
                RedisStore store = open(server)) {
            server.command("SAVE");
            int lost = join(store).epoch().counter();
            restart(server, store);
            Claim again = join(store);
            assertThat(again.epoch().counter()).isGreaterThan(lost);
            assertThat(again.certainFrom()).isEqualTo(again.epoch().counter());

            server.command("SAVE");
            int lostToo = join(store).epoch().counter();
            restart(server, store);
            assertThat(join(store).epoch().counter()).isGreaterThan(lostToo);
        }
    }

    @Test
    void noNameComesAgainWhereNobodyHasJoinedBetweenTwoLosses() {
        try (RedisServer server = RedisServer.start();
                RedisStore store = open(server)) {
            server.command("SAVE");
            restart(server, store);
            await(store.token(KEY, FIRST, StreamId.LISTENING, Part.READER, SharedSessionStore.NO_TOKEN, 7));
            server.command("SAVE");
            int lost = join(store).epoch().counter();
            restart(server, store);
            assertThat(join(store).epoch().counter()).isGreaterThan(lost);
        }
    }

    @Test
    void whoBeginsToReadFindsWhatRedisHasLost() {
        try (RedisServer server = RedisServer.start();
                RedisStore store = open(server)) {
            Epoch other = join(store).epoch();
            commit(store, FIRST, 1, "kept");
            server.command("SAVE");
            Appended lost = commit(store, FIRST, 2, "lost");
            restart(server, store);
            // a call that goes on asks the store for no offset
            await(store.commit(
                    KEY, other, 1, all(new Event(CALL, other, 1, EventKind.PROGRESS, null, new byte[] {'x'}))));
            await(store.token(KEY, other, StreamId.LISTENING, Part.READER, SharedSessionStore.NO_TOKEN, 7));

            long missed = Objects.requireNonNull(
                            await(store.look(KEY)).orElseThrow().streams().get(StreamId.LISTENING))
                    .trimmed();
            assertThat(missed).isGreaterThanOrEqualTo(lost.listening());
            assertThat(commit(store, other, 2, "next").listening()).isGreaterThan(missed);
        }
    }

    /** Appends two events to a call, of which Redis has one after its restart. */
    private static void loseTheSecond(RedisServer server, RedisStore store) {
        await(store.append(KEY, FIRST, all(placed(1))));
        server.command("SAVE");
        await(store.append(KEY, FIRST, all(placed(2))));
        restart(server, store);
    }

    @Test
    void aStreamOfACallThatLacksItsTailIsNotGoneOnWith() {
        try (RedisServer server = RedisServer.start();
                RedisStore store = open(server)) {
            loseTheSecond(server, store);
            assertThat(failureOf(store.append(KEY, FIRST, all(placed(3))))).isInstanceOf(StaleEpochException.class);
            Claim claim = await(store.claim(KEY, 9)).orElseThrow();
            assertThat(claim.last(CALL)).isOne();
            assertThat(claim.certainFrom()).isEqualTo(claim.epoch().counter());
        }
    }

    @Test
    void anHeirLeavesOutTheOffsetsThatMayHaveBeenLost() {
        try (RedisServer server = RedisServer.start();
                RedisStore store = open(server)) {
            loseTheSecond(server, store);
            Epoch heir = join(store).epoch();
            long next = 2 + SessionStore.LEFT_OUT;
            assertThat(failureOf(store.append(KEY, heir, all(placed(heir, next - 1)))))
                    .isInstanceOf(StaleEpochException.class);
            await(store.append(KEY, heir, all(placed(heir, next))));
            await(store.append(KEY, heir, all(placed(heir, next + 1))));
            Look look = await(store.look(KEY)).orElseThrow();
            assertThat(look.streams().get(CALL)).isEqualTo(new Extent(next + 1, next - 1));
        }
    }

    /** It asks for nothing else that would find out. */
    @Test
    void whoHasJoinedBeforeLearnsFromALookWhatRedisMayHaveLost() {
        try (RedisServer server = RedisServer.start();
                RedisStore store = open(server)) {
            server.command("SAVE");
            assertThat(await(store.look(KEY)).orElseThrow().certainFrom()).isOne();
            restart(server, store);
            int certainFrom = await(store.look(KEY)).orElseThrow().certainFrom();
            assertThat(certainFrom).isGreaterThan(FIRST.counter());
            assertThat(join(store).epoch().counter()).isEqualTo(certainFrom);
            assertThat(await(store.look(KEY)).orElseThrow().certainFrom()).isEqualTo(certainFrom);
        }
    }

    private static Event placed(long offset) {
        return placed(FIRST, offset);
    }

    private static Event placed(Epoch epoch, long offset) {
        return new Event(CALL, epoch, offset, EventKind.PROGRESS, null, new byte[] {'x'});
    }

    @Test
    void whereRedisHasLostEverythingSessionsAndLeasesAreGone() {
        try (RedisServer server = RedisServer.start();
                RedisStore store = open(server)) {
            await(store.bus().begin("node", LEASE));
            commit(store, FIRST, 1, "lost");
            restart(server, store);
            assertThat(await(store.bus().renew("node", LEASE))).isFalse();
            assertThat(failureOf(store.commit(KEY, FIRST, 2, all(unplaced(FIRST, "late")))))
                    .isInstanceOf(IllegalStateException.class);
            assertThat(await(store.join(KEY, 5, "node"))).isEmpty();
            await(store.create(KEY, new Epoch(1, 78), Given.record(), "node"));
            assertThat(Given.texts(store)).isEmpty();
        }
    }
}
