package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.Lifetime;
import dev.holdfast.Opening;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What nodes leave behind that are gone, and what those cost who wait. */
class LeftBehindTest {
    @AutoClose
    private final ClusterBed bed = new ClusterBed(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);

    private int latestEpoch(Session session) {
        SessionStore.Look look =
                TestBed.now(bed.shared.look(SessionKey.of(session.id(), ""))).orElseThrow();
        return look.epoch().counter();
    }

    @Test
    void oneNewEpochIsEnoughForAllCallsOfADeadNode() {
        Session here = first.open();
        Connection one = bed.post(here, 1);
        Connection two = bed.post(here, 2);
        Session there = second.find(here);
        third.find(here);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        int before = latestEpoch(here);
        assertThat(bed.read(bed.resume(there, one.cursor()))).hasSize(1);
        assertThat(bed.read(bed.resume(there, two.cursor()))).hasSize(1);
        assertThat(latestEpoch(here)).isEqualTo(before + 1);
    }

    @Test
    void aCursorOfAnEpochThatIsForgottenHasItsPlace() {
        Session here = first.open();
        Connection before = bed.listen(here);
        first.backend.life().sink.send(Wire.notice("a"));
        assertThat(bed.read(before)).containsExactly("a");
        before.broken();
        SessionKey key = SessionKey.of(here.id(), "");
        for (int i = 0; i < 70; i++) {
            var joined = TestBed.now(bed.shared.join(key, i, "gone")).orElseThrow();
            TestBed.now(bed.shared.fence(key, joined.claim().epoch()));
        }
        first.backend.life().sink.send(Wire.notice("b"));
        Connection after = Connection.gap(second.find(here).resume(before.cursor()));
        assertThat(bed.read(after)).containsExactly("b");
    }

    @Test
    void whatIsHeardOfADeadNodeIsKeptNoLonger() {
        Session here = first.open();
        first.backend.life().sink.send(Wire.notice("a"));
        first.backend.life().sink.send(Wire.question("\"q\""));
        Session there = second.find(here);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        Connection listening = bed.listen(there);
        assertThat(bed.read(listening)).containsExactly("a", "question \"q\"");
        listening.inOrder();
        bed.settle();
        assertThat(bed.read(bed.listen(there)))
                .as("a question that nobody asks any more is not repeated")
                .isEmpty();
        assertThat(bed.kept(here, StreamId.LISTENING)).isEmpty();
    }

    @Test
    void whatACursorCoversOfADeadNodeIsKeptNoLonger() {
        Session here = first.open();
        Session there = second.find(here);
        Connection listening = bed.listen(there);
        first.backend.life().sink.send(Wire.notice("a"));
        assertThat(bed.read(listening)).containsExactly("a");
        listening.broken();
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        Connection again = bed.resume(there, listening.cursor());
        again.broken();
        assertThat(bed.read(bed.resume(there, listening.cursor()))).isEmpty();
        assertThat(bed.kept(here, StreamId.LISTENING)).isEmpty();
    }

    /** A session on the second node whose client has had everything there when the first one, which has sent it, dies. */
    private Session hasAllOfADeadNode() {
        Session there = second.find(first.open());
        Connection listening = bed.listen(there);
        first.backend.life().sink.send(Wire.notice("a"));
        assertThat(bed.read(listening)).containsExactly("a");
        listening.broken();
        bed.resume(there, listening.cursor()).broken();
        listenOften(there);
        assertThat(second.store.readsFromStart).as("nothing can be left").isZero();
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        TestBed.now(there.answer(Wire.answer(new RequestId("\"q\""))));
        assertThat(bed.members(there)).as("the dead node is known to be").hasSize(1);
        return there;
    }

    private void listenOften(Session there) {
        second.store.readsFromStart = 0;
        for (int i = 0; i < 5; i++) {
            there.listen();
            bed.settle();
        }
    }

    @Test
    void whatIsLeftOfADeadNodeIsLookedForOnce() {
        Session there = hasAllOfADeadNode();
        listenOften(there);
        assertThat(second.store.readsFromStart).isOne();
        assertThat(bed.kept(there, StreamId.LISTENING)).isEmpty();
    }

    @Test
    void whatIsLeftOfADeadNodeIsLookedForByOneAtATime() {
        Session there = hasAllOfADeadNode();
        second.store.hold(FlakyCluster.Question.READ);
        listenOften(there);
        assertThat(second.store.readsFromStart).isOne();
        second.store.letGo();
        bed.settle();
        assertThat(bed.kept(there, StreamId.LISTENING)).isEmpty();
    }

    @Test
    void whatIsLeftOfADeadNodeIsLookedForAgainWhereTheStoreFails() {
        Session there = hasAllOfADeadNode();
        second.store.throwing = true;
        listenOften(there);
        assertThat(second.store.throwing).isFalse();
        assertThat(bed.kept(there, StreamId.LISTENING)).isEmpty();
    }

    @Test
    void aDeadNodeIsNobodyWhoTakesAnswers() {
        Session here = first.open();
        Session there = second.find(here);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        there.answer(Wire.answer(new RequestId("\"q\"")));
        assertThat(bed.members(here)).hasSize(1);
        assertThat(TestBed.now(there.answer(Wire.answer(new RequestId("\"q\"")))))
                .isFalse();
    }

    @Test
    void whatANodeHasListenedForEndsWithItsLastReader() {
        Session here = first.open();
        Connection old = bed.listen(second.find(here));
        second.store.shut();
        bed.pass(ClusterBed.LEASE.plusSeconds(2));
        second.store.open();
        bed.pass(Duration.ofSeconds(2));
        Connection back = bed.listen(second.find(here));
        old.broken();
        assertThat(second.store.tails).isOne();
        back.broken();
        assertThat(second.store.tails).isZero();
    }

    @Test
    void whoWaitsForACallIsNotAskedToLookByEveryCommitOfItsSession() {
        Session here = first.open();
        Connection call = bed.post(here, 1);
        Connection reader = bed.resume(second.find(here), call.cursor());
        int before = second.store.looks;
        for (int i = 0; i < 10; i++) {
            first.backend.life().sink.send(Wire.notice("notice " + i));
            bed.settle();
        }
        assertThat(second.store.looks).isEqualTo(before);
        first.backend.life().call(1).respond();
        assertThat(bed.read(reader)).containsExactly("result 1");
    }

    @Test
    void aListenerThatReadsOnHearsOfWhatItHasMissed() {
        Session here = first.open();
        Connection listening = bed.listen(second.find(here));
        first.backend.life().sink.send(Wire.notice("a"));
        assertThat(bed.read(listening)).containsExactly("a");
        second.store.hold(FlakyCluster.Question.READ);
        first.backend.life().sink.send(Wire.notice("b"));
        first.backend.life().sink.send(Wire.notice("c"));
        long lost = bed.events(here, StreamId.LISTENING).get(1).offset();
        Append.Trim trim = new Append.Trim(StreamId.LISTENING, lost);
        TestBed.now(bed.shared.append(
                SessionKey.of(here.id(), ""),
                bed.members(here).get(0).epoch(),
                new Append(List.of(), List.of(), List.of(trim))));
        bed.settle();
        second.store.letGo();
        assertThat(bed.read(listening)).containsExactly("a", "c");
        assertThat(second.news.heard).contains("gap on 0.0");
    }

    @Test
    void nobodyForgetsThatItsClientListensElsewhere() {
        Session here = first.open();
        Connection listening = bed.listen(second.find(here));
        first.backend.life().sink.send(Wire.notice("a"));
        bed.read(listening);
        listening.inOrder();
        bed.settle();
        second.die();
        bed.pass(Duration.ofSeconds(10));
        third.find(here);
        assertThat(third.backend.life().sink.followed()).isTrue();
    }

    @Test
    void whoLeavesASessionDoesNotTakeBackWhatTheRecordHasOfItsClient() {
        try (ClusterBed parking = ClusterBed.parking(3, Duration.ofSeconds(30))) {
            Session here = parking.node(0).open();
            parking.node(1).find(here);
            parking.listen(parking.node(0).find(here));
            parking.pass(Duration.ofSeconds(35));
            assertThat(parking.members(here)).hasSize(1);
            parking.node(0).die();
            parking.pass(ClusterBed.LEASE.plusSeconds(1));
            parking.node(2).find(here);
            assertThat(parking.node(2).backend.life().sink.followed()).isTrue();
        }
    }

    @Test
    void whoJoinsASessionDoesNotTakeBackWhatTheRecordHasOfItsClient() {
        Session here = first.open();
        second.store.decree(Collections.nCopies(30, FlakyCluster.Fate.LOST).toArray(FlakyCluster.Fate[]::new));
        second.find(here);
        bed.listen(first.find(here));
        bed.pass(Duration.ofSeconds(10));
        first.die();
        bed.pass(ClusterBed.LEASE.plusSeconds(1));
        third.find(here);
        assertThat(third.backend.life().sink.followed()).isTrue();
    }

    @Test
    void whoParksKeepsNothingThatItsClientHas() {
        try (ClusterBed parking = ClusterBed.parking(2, Duration.ofSeconds(30))) {
            Session here = parking.node(0).open();
            parking.node(0).find(here);
            Session there = parking.node(1).find(here);
            Connection listening = parking.listen(there);
            parking.node(0).backend.life().sink.send(Wire.notice("a"));
            parking.read(listening);
            listening.inOrder();
            Connection again = parking.listen(there);
            parking.pass(Duration.ofSeconds(35));
            assertThat(parking.members(here)).hasSize(1);
            assertThat(parking.kept(here, StreamId.LISTENING)).isEmpty();
            assertThat(again.end).isEmpty();
        }
    }

    @Test
    void aJoinWhoseAnswerWasLostLeavesNoEpoch() {
        Session here = first.open();
        second.store.losesJoin = true;
        assertThat(second.engine.find(here.id(), "").toCompletableFuture()).isCompletedExceptionally();
        second.find(here);
        bed.settle();
        assertThat(bed.members(here)).hasSize(2);
    }

    @Test
    void whoLeavesASessionAndLivesIsFencedAsSoonAsTheStoreCanDoIt() {
        try (ClusterBed parking = ClusterBed.once(2, Duration.ofSeconds(30))) {
            ClusterBed.Node leaving = parking.node(0);
            Session here = leaving.find(leaving.open());
            leaving.store.fail(FlakyCluster.Question.FENCE, true);
            parking.pass(Duration.ofSeconds(35));
            assertThat(leaving.engine.size()).isZero();
            leaving.store.fail(FlakyCluster.Question.FENCE, false);
            parking.pass(Duration.ofSeconds(1));
            assertThat(parking.members(here)).isEmpty();
            Connection call = parking.connected(parking.node(1).find(here).call(TestBed.requests(1)));
            parking.node(1).backend.life().call(1).respond();
            assertThat(parking.read(call)).containsExactly("result 1");
        }
    }

    @Test
    void whoComesBackToASessionBeforeItsOldEpochIsFencedHasTheBackend() {
        try (ClusterBed parking = ClusterBed.once(2, Duration.ofSeconds(30))) {
            ClusterBed.Node leaving = parking.node(0);
            Session here = leaving.find(leaving.open());
            leaving.store.fail(FlakyCluster.Question.FENCE, true);
            parking.pass(Duration.ofSeconds(35));
            leaving.store.hold(FlakyCluster.Question.FENCE);
            leaving.store.fail(FlakyCluster.Question.FENCE, false);
            Session back = leaving.find(here);
            CompletionStage<Call.Outcome> first = back.call(TestBed.requests(1));
            parking.settle();
            leaving.store.letGo();
            parking.connected(first);
            Session there = parking.node(1).find(here);
            CompletionStage<Call.Outcome> second = there.call(TestBed.requests(2));
            parking.settle();
            parking.connected(second);
            assertThat(leaving.backend.life().heard).containsExactly("tools/call 1", "tools/call 2");
            assertThat(parking.node(1).backend.lives).isEmpty();
        }
    }

    @Test
    void aSessionThatCannotBeReadIsLeft() {
        SessionRecord record =
                new SessionRecord(1, SessionRecord.SESSION, "", Long.MAX_VALUE, new byte[] {1}, "", Map.of(), Map.of());
        SessionKey key = SessionKey.of("damaged", "");
        TestBed.now(bed.shared.create(key, new Epoch(1, 1), record));
        second.store.fail(FlakyCluster.Question.DELETE, true);
        assertThat(second.engine.find("damaged", "").toCompletableFuture()).isCompletedExceptionally();
        assertThat(TestBed.now(bed.shared.members(key))).hasSize(1);
    }

    @Test
    void aSessionWithoutGraceThatCannotBeRemovedIsLeft() {
        Lifetime graceless =
                new Lifetime(Duration.ZERO, TestBed.IDLE, Duration.ofSeconds(60), TestBed.IDLE, Duration.ofDays(365));
        Opening opening = TestBed.now(first.engine.open(Wire.initialize(), "", graceless));
        Session here = ((Opening.Opened) opening).session();
        second.store.fail(FlakyCluster.Question.LOOK, true);
        assertThat(second.engine.find(here.id(), "").toCompletableFuture()).isCompletedExceptionally();
        assertThat(bed.members(here)).hasSize(1);
    }

    @Test
    void aJoinThatIsAnsweredWhenItsSessionHasLeftLeavesNoEpoch() {
        Session here = first.open();
        Connection orphan = bed.post(here, 1);
        Session there = second.find(here);
        third.find(here);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        second.store.hold(FlakyCluster.Question.JOIN);
        CompletionStage<Resume> resume = there.resume(orphan.cursor());
        for (int i = 0; i < 4; i++) {
            third.find(here);
            bed.pass(TestBed.IDLE.dividedBy(3));
        }
        assertThat(second.engine.size()).isZero();
        second.store.letGo();
        bed.settle();
        assertThat(resume.toCompletableFuture()).isDone();
        assertThat(bed.members(here)).hasSize(1);
    }
}
