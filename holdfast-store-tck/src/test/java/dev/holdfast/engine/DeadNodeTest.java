package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Opening;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Nodes that die, freeze, or lose the store: others answer for what they ran, and what they write afterwards is refused. */
class DeadNodeTest {
    private static final String INTERRUPTED =
            "error 1 -32603: the server ended while this call was running; whether it had any effect is not known";

    @AutoClose
    private final ClusterBed bed = new ClusterBed(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);

    @Test
    void theCallOfADeadNodeEndsForWhoeverReadsIt() {
        Session here = first.open();
        Connection before = bed.post(here, 1);
        first.backend.life().call(1).sink().send(Wire.progress("1"));
        bed.read(before);
        Connection reader = bed.resume(second.find(here), before.cursor());
        first.die();
        bed.pass(Duration.ofSeconds(5));
        assertThat(bed.read(reader)).containsExactly(INTERRUPTED);
        assertThat(reader.reason()).isEqualTo(EndReason.COMPLETED);
        assertThat(bed.members(here))
                .extracting(SharedSessionStore.Member::node)
                .noneMatch(node -> node.startsWith("n0"));
    }

    @Test
    void whoComesBackAfterTheDeathGetsTheAnswerAtOnce() {
        Session here = first.open();
        Connection before = bed.post(here, 1);
        first.backend.life().call(1).sink().send(Wire.progress("1"));
        bed.read(before);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        Connection reader = bed.resume(second.find(here), before.cursor());
        assertThat(bed.read(reader)).containsExactly(INTERRUPTED);
        reader.broken();
        Connection elsewhere = bed.resume(third.find(here), before.cursor());
        assertThat(bed.read(elsewhere)).containsExactly(INTERRUPTED);
        assertThat(bed.kept(here, before.cursor().stream())).containsExactly("1", INTERRUPTED);
    }

    @Test
    void aCallThatMayBeRepeatedRunsAgainOnTheNodeThatNeedsIt() {
        bed.nodes.forEach(node -> node.backend.harmless = "tools/call");
        Session here = first.open();
        Connection before = bed.post(here, 1);
        first.backend.life().call(1).sink().send(Wire.progress("1"));
        bed.read(before);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        Connection reader = bed.resume(second.find(here), before.cursor());
        second.backend.life().call(1).sink().send(Wire.progress("1"));
        second.backend.life().call(1).sink().send(Wire.progress("2"));
        second.backend.life().call(1).respond();
        assertThat(bed.read(reader)).containsExactly("2", "result 1");
    }

    @Test
    void anHeirThatDiesHasAnHeir() {
        bed.nodes.forEach(node -> node.backend.harmless = "tools/call");
        Session here = first.open();
        Connection before = bed.post(here, 1);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        bed.resume(second.find(here), before.cursor());
        assertThat(second.backend.life().calls).hasSize(1);
        second.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        Connection reader = bed.resume(third.find(here), before.cursor());
        third.backend.life().call(1).respond();
        assertThat(bed.read(reader)).containsExactly("result 1");
    }

    @Test
    void aNodeThatWakesUpWithoutItsLeaseWritesNothing() {
        Session here = first.open();
        Connection call = bed.post(here, 1);
        Connection listening = bed.listen(here);
        first.store.shut();
        bed.pass(ClusterBed.LEASE.plusSeconds(2));
        assertThat(listening.reason()).as("its own clock tells it").isEqualTo(EndReason.TAKEN_OVER);
        assertThat(call.reason()).isEqualTo(EndReason.TAKEN_OVER);
        Connection there = bed.resume(second.find(here), call.cursor());
        assertThat(bed.read(there)).containsExactly(INTERRUPTED);
        List<String> kept = bed.kept(here, StreamId.LISTENING);
        first.backend.life().sink.send(Wire.notice("late"));
        first.backend.life().call(1).respond();
        first.store.open();
        bed.pass(Duration.ofSeconds(2));
        assertThat(bed.kept(here, StreamId.LISTENING)).isEqualTo(kept);
        assertThat(bed.kept(here, call.cursor().stream())).containsExactly(INTERRUPTED);
        assertThat(first.has(here)).as("it is another incarnation").isTrue();
        Connection again = bed.post(first.find(here), 2);
        first.backend.life().call(2).respond();
        assertThat(bed.read(again)).containsExactly("result 2");
    }

    @Test
    void aClientIsToldToComeBackWhereItsNodeHasNoLease() {
        Session here = first.open();
        Connection listening = bed.listen(here);
        first.store.shut();
        bed.pass(ClusterBed.LEASE.plusSeconds(2));
        listening.read();
        assertThat(listening.end.map(StreamReader.End::reason).map(EndReason::advice))
                .contains(EndReason.Advice.RECONNECT);
        assertThat(first.engine.find(here.id(), "").toCompletableFuture())
                .as("503")
                .isCompletedExceptionally();
        assertThat(first.engine.mayWrite()).isFalse();
        first.store.open();
        bed.pass(Duration.ofSeconds(1));
        assertThat(first.engine.mayWrite()).isTrue();
    }

    @Test
    void nobodyHasTakenOverWhatIsGivenUpWhenTheStoreIsAwayForLongerThanTheLease() {
        Session here = first.open();
        Session writing = first.open();
        Connection call = bed.post(here, 1);
        bed.nodes.forEach(node -> node.store.shut());
        first.backend.lives.get(1).sink.send(Wire.notice("on its way"));
        bed.pass(ClusterBed.LEASE.plusSeconds(2));
        assertThat(call.reason().advice()).isEqualTo(EndReason.Advice.RECONNECT);
        assertThat(first.news.heard).containsExactly("created", "created", "parked", "parked");
        assertThat(first.engine.stats().ended().get(EndReason.TAKEN_OVER)).isZero();
        bed.nodes.forEach(node -> node.store.open());
        bed.pass(Duration.ofSeconds(2));
        assertThat(first.has(here)).isTrue();
        assertThat(first.has(writing)).isTrue();
    }

    @Test
    void aSessionThatIsNotInitializedYetComesBackTooWhenItsNodeHasLostItsLease() {
        Session here = ((Opening.Awaiting) TestBed.now(first.engine.open("", TestBed.LIFETIME))).session();
        bed.listen(here);
        first.store.shut();
        bed.pass(ClusterBed.LEASE.plusSeconds(2));
        assertThat(first.news.heard).containsExactly("created", "parked");
        Session there = second.find(here);
        Connection listening = bed.listen(there);
        TestBed.accepted(there.call(List.of(Wire.initialize()))).dispatch();
        assertThat(bed.read(listening)).containsExactly("result 0");
    }

    @Test
    void aSessionThatEndsWithItsConnectionHasEndedWhenItsNodeHasLostItsLease() {
        Session here = ((Opening.Awaiting)
                        TestBed.now(first.engine.open("", TestBed.LIFETIME.withGrace(Duration.ZERO))))
                .session();
        Connection listening = bed.listen(here);
        TestBed.accepted(here.call(List.of(Wire.initialize()))).dispatch();
        assertThat(bed.read(listening)).containsExactly("result 0");
        bed.nodes.forEach(node -> node.store.shut());
        bed.pass(ClusterBed.LEASE.plusSeconds(2));
        assertThat(first.news.heard).containsExactly("created", "closed: DISCONNECTED");
        assertThat(first.engine.stats().ended().get(EndReason.DISCONNECTED)).isOne();
        bed.nodes.forEach(node -> node.store.open());
        bed.pass(Duration.ofSeconds(2));
        assertThat(second.has(here)).isFalse();
    }

    @Test
    void aSessionThatEndsWithItsConnectionHasEndedWhenACommitFindsTheLeaseLost() {
        Session here = ((Opening.Awaiting)
                        TestBed.now(first.engine.open("", TestBed.LIFETIME.withGrace(Duration.ZERO))))
                .session();
        bed.listen(here);
        TestBed.accepted(here.call(List.of(Wire.initialize()))).dispatch();
        bed.settle();
        first.store.shut();
        first.backend.life().sink.send(Wire.notice("on its way"));
        bed.pass(ClusterBed.LEASE.plusSeconds(2));
        assertThat(first.news.heard).containsExactly("created", "closed: DISCONNECTED");
    }

    @Test
    void aSessionThatIsBeingParkedWhenItsNodeLosesItsLeaseIsToldAsParkedOnce() {
        Duration away = Duration.ofSeconds(10);
        try (ClusterBed parking = ClusterBed.parking(1, away)) {
            ClusterBed.Node node = parking.node(0);
            Session session = node.open();
            parking.listen(session).broken();
            parking.pass(away.minusSeconds(1));
            node.store.shut();
            parking.pass(ClusterBed.LEASE.plusSeconds(2));
            assertThat(node.engine.size()).isZero();
            assertThat(node.news.heard).endsWith("parked").containsOnlyOnce("parked");
            node.store.open();
            parking.pass(Duration.ofSeconds(2));
            assertThat(node.has(session)).isTrue();
        }
    }

    @Test
    void aSessionOfANodeThatDrainsWithoutItsLeaseIsToldAsParkedOnce() {
        try (ClusterBed draining = new ClusterBed(1)) {
            ClusterBed.Node node = draining.node(0);
            node.open();
            node.store.shut();
            node.engine.drain(Duration.ZERO);
            draining.pass(ClusterBed.LEASE.plusSeconds(2));
            assertThat(node.news.heard).containsExactly("created", "parked");
            node.store.open();
        }
    }

    @Test
    void aShortOutageOfTheStoreIsOnlySlow() {
        Session here = first.open();
        Connection call = bed.post(here, 1);
        first.store.shut();
        var sent = first.backend.life().call(1).respond();
        bed.pass(ClusterBed.LEASE.dividedBy(2));
        assertThat(bed.read(call)).isEmpty();
        first.store.open();
        bed.pass(Duration.ofSeconds(1));
        TestBed.now(sent);
        assertThat(bed.read(call)).containsExactly("result 1");
    }

    @Test
    void aNodeWhoseInboxCannotBeOpenedTriesAgain() {
        Session here = first.open();
        first.store.shut();
        bed.pass(ClusterBed.LEASE.plusSeconds(2));
        first.store.withoutInbox = true;
        first.store.open();
        bed.pass(Duration.ofSeconds(3));
        assertThat(first.has(here)).isTrue();
    }

    @Test
    void aReadThatThrowsIsTriedAgain() {
        Session here = first.open();
        Connection listening = bed.listen(second.find(here));
        second.store.throwing = true;
        first.backend.life().sink.send(Wire.notice("a"));
        bed.settle();
        bed.pass(Duration.ofSeconds(2));
        assertThat(bed.read(listening)).containsExactly("a");
    }

    @Test
    void aTakeoverThatFailsOnItsWayIsTriedAgain() {
        Session here = first.open();
        Connection before = bed.post(here, 1);
        Session there = second.find(here);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        second.store.fail(FlakyCluster.Question.READ, true);
        assertThat(there.resume(before.cursor()).toCompletableFuture()).isCompletedExceptionally();
        second.store.fail(FlakyCluster.Question.READ, false);
        assertThat(bed.read(bed.resume(there, before.cursor()))).containsExactly(INTERRUPTED);
    }

    @Test
    void aSessionWhoseTimeIsOverWhenItTakesACallOverEndsLikeAnyOther() {
        Duration idle = Duration.ofSeconds(10);
        Session here = ((Opening.Opened)
                        TestBed.now(first.engine.open(Wire.initialize(), "", TestBed.LIFETIME.withIdle(idle))))
                .session();
        Connection before = bed.post(here, 1);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        Session there = second.find(here);
        second.store.hold(FlakyCluster.Question.READ);
        CompletableFuture<Resume> resumed = there.resume(before.cursor()).toCompletableFuture();
        bed.settle();
        assertThat(resumed).isNotDone();
        bed.pass(idle);
        second.store.letGo();
        bed.settle();
        assertThat(resumed).isDone();
        assertThat(second.news.heard).contains("closed: EXPIRED");
        assertThat(second.engine.size()).isZero();
    }

    @Test
    void whatADeadNodeHasOnTheWireIsRefusedWhicheverEpochItIsOf() {
        Session here = third.open();
        Connection lost = bed.post(here, 2);
        Session there = first.find(here);
        Connection before = bed.post(there, 1);
        third.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        bed.resume(there, lost.cursor());
        first.store.decree(FlakyCluster.Fate.LATE);
        first.backend.life().call(1).respond();
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        Session last = second.find(here);
        assertThat(bed.read(bed.resume(last, before.cursor()))).containsExactly(INTERRUPTED);
        first.store.arrive();
        assertThat(bed.kept(here, before.cursor().stream())).containsExactly(INTERRUPTED);
    }
}
