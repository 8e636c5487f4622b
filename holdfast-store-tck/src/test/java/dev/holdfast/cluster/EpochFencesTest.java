package dev.holdfast.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.tck.MemoryCluster;
import org.junit.jupiter.api.Test;

/** Epochs are fenced though the store throws an error at one of them. */
class EpochFencesTest {
    private final BrokenFences store = new BrokenFences(new MemoryCluster());

    @Test
    void anErrorAtOneEpochLeavesTheOthersNotUnfenced() {
        store.join("second", 2);
        store.join("third", 3);
        store.breaks = true;

        assertThat(new EpochFences(store.reached)
                        .fence(BrokenFences.KEY, store.epochs().stream())
                        .toCompletableFuture())
                .isCompletedExceptionally();

        assertThat(store.members()).hasSize(1);
    }

    @Test
    void anEpochThatALostJoinHasMadeIsFencedAtTheNextJoin() {
        EpochFences fences = new EpochFences(store.reached);
        store.join("second", 2);
        fences.joinLost(BrokenFences.KEY);
        fences.joined(BrokenFences.KEY, store.join("second", 3));

        assertThat(store.members()).containsExactlyInAnyOrder("first", "second");
    }

    @Test
    void anErrorAtSuchAnEpochIsMadeGoodLater() {
        EpochFences fences = new EpochFences(store.reached);
        store.join("second", 2);
        fences.joinLost(BrokenFences.KEY);
        Membership own = store.join("second", 3);
        store.breaks = true;
        fences.joined(BrokenFences.KEY, own);
        assertThat(store.members()).containsExactlyInAnyOrder("first", "second", "second");

        fences.joined(BrokenFences.KEY, own);

        assertThat(store.members()).containsExactlyInAnyOrder("first", "second");
    }
}
