package dev.holdfast.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.tck.MemoryCluster;
import org.junit.jupiter.api.Test;

/** Epochs are fenced though the store throws an error at one of them. */
class FencesTest {
    private final BrokenFences store = new BrokenFences(new MemoryCluster());

    @Test
    void anErrorAtOneEpochLeavesTheOthersNotUnfenced() {
        store.join("second", 2);
        store.join("third", 3);
        store.breaks = true;

        assertThat(new Fences(store.reached)
                        .all(BrokenFences.KEY, store.epochs().stream())
                        .toCompletableFuture())
                .isCompletedExceptionally();

        assertThat(store.members()).hasSize(1);
    }

    @Test
    void anEpochThatALostJoinHasMadeIsFencedAtTheNextJoin() {
        LostJoins lost = new LostJoins(store.reached);
        store.join("second", 2);
        lost.lost(BrokenFences.KEY);
        lost.joined(BrokenFences.KEY, store.join("second", 3));

        assertThat(store.members()).containsExactlyInAnyOrder("first", "second");
    }

    @Test
    void anErrorAtSuchAnEpochIsMadeGoodLater() {
        LostJoins lost = new LostJoins(store.reached);
        store.join("second", 2);
        lost.lost(BrokenFences.KEY);
        Membership own = store.join("second", 3);
        store.breaks = true;
        lost.joined(BrokenFences.KEY, own);
        assertThat(store.members()).containsExactlyInAnyOrder("first", "second", "second");

        lost.joined(BrokenFences.KEY, own);

        assertThat(store.members()).containsExactlyInAnyOrder("first", "second");
    }
}
