package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.cluster.SharedSessionStore.Counted;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** How many sessions a principal has in the whole cluster. */
public abstract class PrincipalsContract extends SharedStoreContract {
    private static final String ALICE = "alice";
    private static final String BOB = "bob {with} *braces* and \u00e4";
    private static final Counted COUNTS = new Counted(true, List.of());
    private static final Duration MINUTE = Duration.ofMinutes(1);

    protected PrincipalsContract(Supplier<? extends SharedBed> beds) {
        super(beds);
    }

    private static SessionKey session(int number) {
        return SessionKey.of("session " + number, ALICE);
    }

    private Counted count(SharedSessionStore store, int session, Duration time, int most) {
        return await(store.count(ALICE, session(session), bed().millis() + time.toMillis(), most));
    }

    private boolean counts(int session, Duration time, int most) {
        return count(store(), session, time, most).counts();
    }

    @Test
    @DisplayName("Nothing happens where it does not count yet, and as many others as may do")
    void noMoreCountThanMay() {
        assertThat(count(store(), 1, LIFE, 2)).isEqualTo(COUNTS);
        assertThat(count(elsewhere(), 2, LIFE, 2)).isEqualTo(COUNTS);
        assertThat(counts(3, LIFE, 2)).isFalse();
        assertThat(count(elsewhere(), 3, LIFE, 2).counts()).isFalse();
        assertThat(counts(3, LIFE, 3)).isTrue();
    }

    @Test
    @DisplayName("Counts a session among those of a principal until a time")
    void aSessionCountsUntilItsTime() {
        counts(1, MINUTE, 1);
        bed().advance(MINUTE.minusMillis(1));
        assertThat(counts(2, MINUTE, 1)).isFalse();
        bed().advance(Duration.ofMillis(1));
        assertThat(counts(2, MINUTE, 1)).isTrue();
        assertThat(counts(1, MINUTE, 1)).isFalse();
    }

    @Test
    @DisplayName("One that counts already does so until the later of both times")
    void aSessionThatCountsGoesOnToCount() {
        counts(1, MINUTE, 1);
        assertThat(count(elsewhere(), 1, MINUTE.multipliedBy(3), 1)).isEqualTo(COUNTS);
        assertThat(counts(1, MINUTE.multipliedBy(2), 1)).isTrue();
        bed().advance(MINUTE.multipliedBy(3).minusMillis(1));
        assertThat(counts(2, MINUTE, 1)).isFalse();
        bed().advance(Duration.ofMillis(1));
        assertThat(counts(2, MINUTE, 1)).isTrue();
    }

    @Test
    void aSessionThatCountsGoesOnToCountThoughThereAreMoreThanMay() {
        counts(1, LIFE, 2);
        counts(2, LIFE, 2);
        assertThat(counts(1, LIFE, 1)).isTrue();
        assertThat(counts(3, LIFE, 1)).isFalse();
    }

    @Test
    @DisplayName("Where it does not count, those that do: the one whose time passes first comes first")
    void whoFindsNoRoomIsToldWhoCounts() {
        counts(1, MINUTE.multipliedBy(3), 3);
        counts(2, MINUTE, 3);
        counts(3, MINUTE.multipliedBy(2), 3);
        assertThat(count(elsewhere(), 4, LIFE, 3).first()).containsExactly(session(2), session(3), session(1));
        counts(2, MINUTE.multipliedBy(4), 3);
        assertThat(count(elsewhere(), 4, LIFE, 3).first()).containsExactly(session(3), session(1), session(2));
        IntStream.rangeClosed(4, 12).forEach(number -> counts(number, LIFE, 12));
        assertThat(count(store(), 13, LIFE, 12).first()).hasSize(SharedSessionStore.COUNTED_TOLD);
    }

    @Test
    @DisplayName("Lets a session not count among those of a principal any more; no error where it did not")
    void aSessionThatDoesNotCountMakesRoom() {
        await(store().uncount(ALICE, session(1)));
        counts(1, LIFE, 2);
        counts(2, LIFE, 2);
        await(elsewhere().uncount(ALICE, session(1)));
        await(elsewhere().uncount(ALICE, session(1)));
        await(elsewhere().uncount(BOB, session(2)));
        assertThat(counts(3, LIFE, 2)).isTrue();
        assertThat(counts(4, LIFE, 2)).isFalse();
    }

    @Test
    void eachPrincipalIsCountedByItself() {
        counts(1, LIFE, 1);
        assertThat(await(store().count(BOB, session(2), bed().millis() + LIFE.toMillis(), 1)))
                .isEqualTo(COUNTS);
        assertThat(await(elsewhere().count(BOB, session(3), bed().millis() + LIFE.toMillis(), 1)))
                .isEqualTo(new Counted(false, List.of(session(2))));
    }

    @Test
    @DisplayName(
            "It is counted by this alone: whether there is such a session is not asked, and no other method ends that it counts")
    void sessionsAreCountedByThisAlone() {
        begin();
        assertThat(counts(1, LIFE, 1)).isTrue();
        await(store().delete(session(1)));
        assertThat(counts(2, LIFE, 1)).isFalse();
        await(store().count("somebody", KEY, bed().millis() + LIFE.toMillis(), 1));
        await(store().delete(KEY));
        assertThat(await(store().count("somebody", OTHER, bed().millis() + LIFE.toMillis(), 1))
                        .counts())
                .isFalse();
    }

    @Test
    void ofManyWhoCountAtOnceNoMoreDoThanMay() {
        List<CompletableFuture<Boolean>> asked = IntStream.range(0, 40)
                .mapToObj(number -> CompletableFuture.supplyAsync(
                        () -> count(number % 2 == 0 ? store() : elsewhere(), number, LIFE, 10)
                                .counts()))
                .toList();
        assertThat(asked.stream().filter(CompletableFuture::join).count()).isEqualTo(10);
    }

    @Test
    void aTimeThatHasPassedOrNeverPassesIsATime() {
        assertThat(await(store().count(ALICE, session(1), bed().millis() - 1, 1)))
                .isEqualTo(COUNTS);
        assertThat(await(store().count(ALICE, session(2), Long.MAX_VALUE, 1))).isEqualTo(COUNTS);
        bed().advance(Duration.ofDays(365));
        assertThat(await(elsewhere().count(ALICE, session(3), Long.MAX_VALUE, 1)))
                .isEqualTo(new Counted(false, List.of(session(2))));
    }
}
