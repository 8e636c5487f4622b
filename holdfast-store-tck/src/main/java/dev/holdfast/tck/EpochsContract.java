package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StaleEpochException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Claims and fences. */
public abstract class EpochsContract extends StoreContract<StoreBed> {
    protected EpochsContract(Supplier<? extends StoreBed> beds) {
        super(beds);
    }

    private SessionStore.Claim claim(int nonce) {
        return await(store().claim(KEY, nonce)).orElseThrow(() -> new AssertionError("not there"));
    }

    @Test
    @DisplayName("counts its next epoch")
    void theStoreCountsTheEpochs() {
        create();
        assertThat(claim(-8).epoch()).isEqualTo(new Epoch(2, -8));
        assertThat(claim(9).epoch()).isEqualTo(new Epoch(3, 9));
        assertThat(claim(9).before()).containsExactly(FIRST, new Epoch(2, -8), new Epoch(3, 9));
    }

    @Test
    @DisplayName("fences every earlier one")
    void fencesEveryEarlierEpoch() {
        create();
        append(event(LISTENING, 1));
        Epoch second = claim(2).epoch();
        Throwable refused = failureOf(store().append(KEY, FIRST, only(event(LISTENING, 2))));
        assertThat(refused).isInstanceOf(StaleEpochException.class);
        await(store().append(KEY, second, only(event(LISTENING, 2))));
        Epoch third = claim(3).epoch();
        failureOf(store().append(KEY, second, only(event(LISTENING, 3))));
        await(store().append(KEY, third, only(event(LISTENING, 3))));
        assertThat(read(LISTENING)).hasSize(3);
    }

    @Test
    @DisplayName("Fails with a StaleEpochException under any epoch but the present one")
    void anEpochIsItsCounterAndItsNonce() {
        create();
        for (Epoch wrong : List.of(new Epoch(1, 78), new Epoch(2, 77), new Epoch(0, 77))) {
            assertFails(StaleEpochException.class, store().append(KEY, wrong, only(event(LISTENING, 1))));
        }
        append(event(LISTENING, 1));
    }

    @Test
    @DisplayName("A claim whose answer was lost is simply claimed again")
    void aLostClaimIsClaimedAgain() {
        create();
        append(event(LISTENING, 1));
        claim(4);
        SessionStore.Claim again = claim(5);
        assertThat(again.last(LISTENING)).isOne();
        await(store().append(KEY, again.epoch(), only(event(LISTENING, 2))));
    }

    @Test
    @DisplayName("the epochs that it had, oldest first, at least the latest 64")
    void tellsOfTheLatestEpochs() {
        create();
        List<Epoch> all = new ArrayList<>(List.of(FIRST));
        for (int i = 0; i < 100; i++) {
            List<Epoch> before = claim(i).before();
            int told = Math.min(all.size(), SessionStore.EPOCHS_KEPT);
            assertThat(before)
                    .endsWith(all.subList(all.size() - told, all.size()).toArray(Epoch[]::new));
            all.add(new Epoch(i + 2, i));
        }
    }

    @Test
    @DisplayName("Looks at a session and changes nothing: its epoch stays the present one, and whoever has it goes on")
    void aLookChangesNothing() {
        create();
        append(event(LISTENING, 1), event(CALL, 1));
        trim(LISTENING, 1);
        SessionStore.Look look = look();
        assertThat(look.epoch()).isEqualTo(FIRST);
        append(event(LISTENING, 2));
        assertThat(look().epoch()).isEqualTo(FIRST);
        SessionStore.Claim claim = claim(2);
        SessionStore.Look after = look();
        assertThat(after.epoch()).isEqualTo(claim.epoch());
        assertThat(after.record()).usingRecursiveComparison().isEqualTo(claim.record());
        assertThat(after.streams()).isEqualTo(claim.streams());
        assertThat(claim.streams()).containsKeys(LISTENING, CALL);
    }

    private SessionStore.Look look() {
        return await(store().look(KEY)).orElseThrow(() -> new AssertionError("not there"));
    }

    @Test
    @DisplayName("Looks at a session; empty where no such session exists")
    void aLookAtASessionThatIsNotThereIsEmpty() {
        assertThat(await(store().look(KEY))).isEmpty();
        create();
        assertThat(await(store().look(OTHER))).isEmpty();
        await(store().delete(KEY));
        assertThat(await(store().look(KEY))).isEmpty();
    }

    @Test
    @DisplayName("Removes a session, unless another epoch than this one is its present one; then it stays as it is")
    void aSessionThatWasClaimedSinceIsNotRemoved() {
        create();
        append(event(LISTENING, 1));
        Epoch second = claim(2).epoch();
        for (Epoch wrong : List.of(FIRST, new Epoch(2, 3), new Epoch(3, 2))) {
            assertThat(await(store().delete(KEY, wrong))).isFalse();
        }
        await(store().append(KEY, second, only(event(LISTENING, second, 2))));
        assertThat(read(LISTENING)).hasSize(2);
        assertThat(await(store().delete(KEY, second))).isTrue();
        assertThat(lookFor(KEY)).isEmpty();
        assertThat(read(LISTENING)).isEmpty();
    }

    @Test
    @DisplayName("Removes a session, and returns whether it is not there now")
    void aSessionThatIsNotThereNeedsNoRemoval() {
        assertThat(await(store().delete(KEY, FIRST))).isTrue();
        create();
        assertThat(await(store().delete(KEY, FIRST))).isTrue();
        assertThat(await(store().delete(KEY, FIRST))).isTrue();
    }

    @Test
    void anEventKeepsTheEpochThatAppendedIt() {
        create();
        append(event(LISTENING, 1));
        Epoch second = claim(2).epoch();
        await(store().append(KEY, second, only(event(LISTENING, second, 2))));
        assertThat(read(LISTENING)).extracting(found -> found.epoch()).containsExactly(FIRST, second);
    }

    @Test
    void aClaimTellsOfEveryAppendThatWasCalledBefore() {
        create();
        for (int offset = 1; offset <= 50; offset++) {
            store().append(KEY, FIRST, only(event(LISTENING, offset)));
        }
        SessionStore.Claim claim = claim(2);
        assertThat(claim.last(LISTENING)).isEqualTo(50);
        assertThat(read(LISTENING)).hasSize(50);
    }

    @Test
    void sessionsHaveEpochsOfTheirOwn() {
        create();
        create(OTHER);
        claim(2);
        await(store().append(OTHER, FIRST, only(event(LISTENING, 1))));
    }
}
