package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.NodeLimits;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.Unavailable;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A principal may have two sessions, on all nodes together. */
class PrincipalQuotaTest {
    private static final String ALICE = "alice";
    private static final Opening REFUSED = new Unavailable(Refusal.PRINCIPAL_SESSIONS);
    private static final Duration MOMENT = Duration.ofSeconds(2);

    @AutoClose
    private final ClusterBed bed = ClusterBed.limited(2, NodeLimits.DEFAULT.withPrincipalSessions(2));

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);

    /** Opens a session that its client reads. */
    private Session busy(ClusterBed.Node node) {
        Session session = node.open(ALICE);
        bed.listen(session);
        return session;
    }

    /** Opens a session that its client has used, and leaves alone. */
    private Session idle(ClusterBed.Node node) {
        Session session = node.find(node.open(ALICE), ALICE);
        bed.pass(Duration.ofSeconds(1));
        return session;
    }

    private Opening opening(ClusterBed.Node node) {
        bed.pass(MOMENT);
        return node.tryToOpen(ALICE);
    }

    private void assertOpens(ClusterBed.Node node) {
        assertThat(opening(node)).isInstanceOf(Opening.Opened.class);
    }

    @Test
    void sessionsOfAllNodesCount() {
        busy(first);
        busy(second);
        assertThat(opening(first)).isEqualTo(REFUSED);
        assertThat(opening(second)).isEqualTo(REFUSED);
        assertThat(first.tryToOpen("bob")).isInstanceOf(Opening.Opened.class);
        assertThat(first.engine.size()).isEqualTo(2);
        assertThat(first.engine.stats().ended()).containsEntry(EndReason.EVICTED, 0L);
    }

    @Test
    void nobodyInParticularHasNoLimit() {
        for (int i = 0; i < 5; i++) {
            bed.listen(first.open(""));
            bed.listen(second.open(""));
        }
        assertThat(first.engine.size() + second.engine.size()).isEqualTo(10);
    }

    @Test
    void nothingIsLeftOfASessionThatFoundNoRoom() {
        busy(first);
        busy(first);
        assertThat(opening(second)).isEqualTo(REFUSED);
        assertThat(second.backend.life().closed).isOne();
        assertThat(second.engine.size()).isZero();
        CompletionStage<Void> drained = second.engine.drain(Duration.ZERO);
        bed.pass(Duration.ofMillis(50));
        assertThat(drained.toCompletableFuture()).isCompleted();
    }

    @Test
    void whoWasRefusedAMomentAgoGetsNoBackendInVain() {
        busy(first);
        busy(first);
        assertThat(opening(second)).isEqualTo(REFUSED);
        assertThat(second.tryToOpen(ALICE)).isEqualTo(REFUSED);
        assertThat(second.backend.lives).hasSize(1);
        assertThat(opening(second)).isEqualTo(REFUSED);
        assertThat(second.backend.lives).hasSize(2);
    }

    @Test
    void aSessionThatIsOnSeveralNodesCountsOnce() {
        Session both = first.open(ALICE);
        bed.listen(second.find(both, ALICE));
        busy(second);
        assertThat(opening(first)).isEqualTo(REFUSED);
        assertThat(bed.now(first.engine.terminate(both.id(), ALICE))).isTrue();
        assertOpens(first);
    }

    @Test
    void aSessionThatItsClientEndsOnAnotherNodeMakesRoom() {
        Session ended = busy(first);
        busy(first);
        assertThat(bed.now(second.engine.terminate(ended.id(), ALICE))).isTrue();
        assertOpens(second);
        assertThat(first.has(ended, ALICE)).isFalse();
    }

    @Test
    void aSessionOfThisNodeThatNobodyUsesMakesRoom() {
        Session oldest = idle(first);
        Session idle = idle(first);
        assertOpens(first);
        assertThat(first.has(oldest, ALICE)).isFalse();
        assertThat(first.has(idle, ALICE)).isTrue();
        assertThat(first.engine.stats().parked()).isZero();
    }

    @Test
    void whatIsInTheMemoryOfAnotherNodeStays() {
        Session idle = idle(first);
        busy(first);
        assertThat(opening(second)).isEqualTo(REFUSED);
        assertThat(first.has(idle, ALICE)).isTrue();
    }

    @Test
    void aSessionThatItsClientReadsOnAnotherNodeStays() {
        Session both = idle(first);
        Connection listening = bed.listen(second.find(both, ALICE));
        busy(second);
        assertThat(opening(first)).isEqualTo(REFUSED);
        assertThat(second.has(both, ALICE)).isTrue();
        assertThat(listening.end).isEmpty();
    }

    @Test
    void theOnlyBackendOfASessionThatItsClientReadsOnAnotherNodeStays() {
        try (ClusterBed once = ClusterBed.once(2, NodeLimits.DEFAULT.withPrincipalSessions(2))) {
            ClusterBed.Node here = once.node(0);
            ClusterBed.Node there = once.node(1);
            once.listen(there.find(here.open(ALICE), ALICE));
            once.listen(there.open(ALICE));
            once.pass(Duration.ofSeconds(4));
            assertThat(here.tryToOpen(ALICE)).isEqualTo(REFUSED);
            assertThat(here.backend.lives.get(0).closed).isZero();
        }
    }

    @Test
    void aSessionThatWaitsInTheStoreCountsAndMakesRoom() {
        Session earlier = idle(second);
        Session later = idle(second);
        second.engine.drain(Duration.ZERO);
        bed.pass(Duration.ofSeconds(20));
        Session fresh = busy(first);
        assertThat(first.has(earlier, ALICE)).isFalse();
        assertThat(first.has(later, ALICE)).isTrue();
        bed.listen(first.find(later, ALICE));
        assertThat(opening(first)).isEqualTo(REFUSED);
        assertThat(first.has(fresh, ALICE)).isTrue();
    }

    @Test
    void aSessionThatANodeJoinsWhichHasJustBegunMakesNoRoom() {
        Session earlier = idle(second);
        Session later = idle(second);
        second.engine.drain(Duration.ZERO);
        bed.pass(Duration.ofSeconds(20));
        first.store.hold(FlakyCluster.Question.MEMBERS);
        CompletionStage<Opening> opening = first.engine.open(Wire.initialize(), ALICE, TestBed.LIFETIME);
        bed.settle();
        ClusterBed.Node third = bed.start(network -> {});
        bed.settle();
        Connection listening = bed.listen(third.find(earlier, ALICE));
        first.store.letGo();
        bed.settle();
        assertThat(TestBed.now(opening)).isInstanceOf(Opening.Opened.class);
        assertThat(listening.end).isEmpty();
        assertThat(third.has(earlier, ALICE)).isTrue();
        assertThat(third.has(later, ALICE)).isFalse();
    }

    @Test
    void theSessionsOfADeadNodeCountUntilItIsKnownToBeDead() {
        busy(second);
        busy(second);
        second.die();
        assertThat(first.tryToOpen(ALICE)).isEqualTo(REFUSED);
        bed.pass(ClusterBed.LEASE);
        busy(first);
        busy(first);
        assertThat(opening(first)).isEqualTo(REFUSED);
    }

    @Test
    void aSessionCountsForAsLongAsItLives() {
        busy(first);
        busy(first);
        bed.pass(Duration.ofHours(3));
        assertThat(opening(second)).isEqualTo(REFUSED);
    }

    @Test
    void aSessionThatHasExpiredDoesNotCount() {
        idle(first);
        idle(first);
        bed.pass(TestBed.IDLE.plusSeconds(1));
        busy(second);
        busy(second);
        assertThat(opening(first)).isEqualTo(REFUSED);
    }

    @Test
    void aSessionThatTheStoreDidNotTakeDoesNotCount() {
        first.store.fail(FlakyCluster.Question.CREATE, true);
        CompletionStage<Opening> failing = first.engine.open(Wire.initialize(), ALICE, TestBed.LIFETIME);
        assertThat(failing.toCompletableFuture()).isCompletedExceptionally();
        busy(second);
        busy(second);
        assertThat(opening(second)).isEqualTo(REFUSED);
    }

    @Test
    void whileTheStoreDoesNotSayHowManyThereAreTheLimitOfTheNodeIsLeft() {
        busy(first);
        busy(first);
        second.store.fail(FlakyCluster.Question.COUNT, true);
        busy(second);
        busy(second);
        assertThat(opening(second)).isEqualTo(REFUSED);
        assertThat(first.engine.size() + second.engine.size()).isEqualTo(4);
    }

    @Test
    void aSessionIsDeletedWhenItsPlaceIsFree() {
        Session session = busy(first);
        busy(first);
        first.store.hold(FlakyCluster.Question.UNCOUNT);
        CompletableFuture<Void> deleted = session.terminate().toCompletableFuture();
        bed.settle();
        assertThat(deleted).isNotDone();

        first.store.letGo();

        bed.settle();
        assertThat(deleted).isCompleted();
        assertOpens(second);
    }

    @Test
    void aSessionIsDeletedThoughItsPlaceCannotBeFreed() {
        Session session = busy(first);
        first.store.fail(FlakyCluster.Question.UNCOUNT, true);
        CompletableFuture<Void> deleted = session.terminate().toCompletableFuture();
        bed.settle();

        assertThat(deleted).isCompleted();
    }

    @Test
    void theOnlySessionOfAPrincipalMakesRoomForItsNext() {
        try (ClusterBed one = ClusterBed.limited(1, NodeLimits.DEFAULT.withPrincipalSessions(1))) {
            ClusterBed.Node node = one.node(0);
            Session before = node.find(node.open(ALICE), ALICE);
            Session after = node.open(ALICE);
            assertThat(node.has(before, ALICE)).isFalse();
            assertThat(node.has(after, ALICE)).isTrue();
        }
    }
}
