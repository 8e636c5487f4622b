package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Finding;
import dev.holdfast.Session;
import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A call in a store that nodes share: it is stored with its answer, and what its start would have told comes in another way. */
class OneCommitTest {
    private static final RequestId LEVEL = new RequestId("7");
    private static final String SET_LEVEL = "logging/setLevel";

    @AutoClose
    private final ClusterBed bed = new ClusterBed(2);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);

    /** A call whose client has heard nothing of it yet. */
    private Connection unheard(ClusterBed.Node node, Session session, int id) {
        Call call = TestBed.accepted(session.call(TestBed.requests(id)));
        Connection connection = Connection.unheard(call.reader().orElseThrow());
        call.dispatch();
        bed.settle();
        assertThat(node.backend.life().call(id)).isNotNull();
        return connection;
    }

    private List<Append> commitsBehind(ClusterBed.Node node, int before) {
        return node.store.tried.subList(before, node.store.tried.size());
    }

    @Test
    void aCallThatIsAnsweredBeforeItsHeadIsDueIsOneCommitThatLeavesNothingInTheRecord() {
        Session session = first.open();
        int before = first.store.tried.size();
        Connection call = unheard(first, session, 1);
        assertThat(commitsBehind(first, before)).isEmpty();
        first.backend.life().call(1).respond();
        assertThat(bed.read(call)).containsExactly("result 1");
        assertThat(commitsBehind(first, before)).singleElement().satisfies(commit -> {
            assertThat(commit.events()).hasSize(1);
            assertThat(commit.changes()).noneMatch(RecordChange.CallStarted.class::isInstance);
        });
    }

    @Test
    void theStartOfASlowCallIsCommittedWhenItsHeadIsDue() {
        Session session = first.open();
        int before = first.store.tried.size();
        Connection call = unheard(first, session, 1);
        assertThat(call.headDue()).as("at once").isTrue();
        assertThat(commitsBehind(first, before))
                .singleElement()
                .satisfies(commit ->
                        assertThat(commit.changes()).singleElement().isInstanceOf(RecordChange.CallStarted.class));
        assertThat(bed.record(session).running()).hasSize(1);
    }

    @Test
    void aQuestionLeavesBehindTheStartOfItsCall() {
        Session session = first.open();
        int before = first.store.tried.size();
        Connection call = unheard(first, session, 1);
        first.backend.life().call(1).sink().send(Wire.question("\"q\""));
        assertThat(bed.read(call)).containsExactly("question \"q\"");
        assertThat(commitsBehind(first, before).get(0).changes()).anyMatch(RecordChange.CallStarted.class::isInstance);
    }

    /** Nobody may repeat it, and nobody knows what it did: as when a connection breaks. */
    @Test
    void aCallWhoseNodeIsFencedMeanwhileIsRefusedAndItsAnswerIsNowhere() {
        Session session = first.open();
        Connection call = unheard(first, session, 1);
        Member member = bed.members(session).get(0);
        TestBed.now(bed.shared.fence(SessionKey.of(session.id(), ""), member.epoch()));
        first.backend.life().call(1).respond();
        assertThat(bed.read(call)).isEmpty();
        assertThat(call.reason()).isEqualTo(EndReason.STORE_FAILED);
        assertThat(call.headDue()).as("its client cannot come back to it").isFalse();
        assertThat(first.news.heard).contains("closed: TAKEN_OVER");
    }

    @Test
    void aNodeThatWakesWithoutItsLeaseCallsNoBackend() {
        Session session = first.open();
        first.store.frozen = true;
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        CompletionStage<Call.Outcome> call = session.call(TestBed.requests(1));
        bed.settle();
        assertThat(call.toCompletableFuture()).isCompletedExceptionally();
        assertThat(first.backend.life().calls).isEmpty();
    }

    @Test
    void aCallThatIsDispatchedAfterItsNodeHasLostTheLeaseCallsNoBackend() {
        Session session = first.open();
        Call call = TestBed.accepted(session.call(TestBed.requests(1)));
        Connection connection = Connection.unheard(call.reader().orElseThrow());
        first.store.frozen = true;
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        call.dispatch();
        first.store.frozen = false;
        bed.pass(ClusterBed.LEASE);
        assertThat(first.backend.life().calls).isEmpty();
        assertThat(bed.read(connection)).isEmpty();
        assertThat(connection.reason()).isEqualTo(EndReason.STORE_FAILED);
    }

    @Test
    void aForwardedCallIsToldAsTakenWhenItsStartIsCommitted() {
        try (ClusterBed once = ClusterBed.once(2)) {
            Session here = once.node(0).open();
            Session there = once.node(1).find(here);
            Connection call = once.post(there, 1);
            assertThat(once.record(here).running()).as("its node may die now").hasSize(1);
            once.node(0).backend.life().call(1).respond();
            assertThat(once.read(call)).containsExactly("result 1");
        }
    }

    private Connection setLevel(Session session) {
        Connection call =
                bed.connected(session.call(List.of(Wire.request(LEVEL, SET_LEVEL, new JournalChange.Put(SET_LEVEL)))));
        first.backend.life().call(7).sink().send(Wire.response(LEVEL));
        return call;
    }

    @Test
    void whoHasSetSomethingHearsSoWhenEveryNodeKnows() {
        Session here = first.open();
        Session there = second.find(here);
        bed.post(there, 1);
        second.store.deaf = true;
        Connection set = setLevel(here);
        bed.pass(Duration.ofMillis(10));
        assertThat(bed.read(set)).isEmpty();
        second.store.deaf = false;
        bed.pass(Duration.ofMillis(500));
        assertThat(bed.read(set)).containsExactly("result 7");
        bed.post(there, 2);
        assertThat(second.backend.life().heard).containsExactly("tools/call 1", SET_LEVEL + " 7", "tools/call 2");
    }

    @Test
    void aNodeThatSaysNothingForTheLengthOfALeaseCanCommitNothingAnyMore() {
        Session here = first.open();
        Session there = second.find(here);
        bed.post(there, 1);
        second.store.deaf = true;
        Connection set = setLevel(here);
        bed.pass(ClusterBed.LEASE.plusSeconds(1));
        assertThat(bed.read(set)).containsExactly("result 7");
        assertThat(bed.members(here)).hasSize(1);
        Connection call = unheard(second, there, 2);
        second.backend.life().call(2).respond();
        assertThat(bed.read(call)).isEmpty();
        assertThat(call.reason()).isEqualTo(EndReason.STORE_FAILED);
    }

    @Test
    void whoEndsASessionHearsSoWhenEveryNodeKnows() {
        Session here = first.open();
        Session there = second.find(here);
        second.store.deaf = true;
        CompletionStage<Void> ended = here.terminate();
        bed.pass(Duration.ofMillis(10));
        assertThat(ended.toCompletableFuture()).isNotDone();
        second.store.deaf = false;
        bed.pass(Duration.ofMillis(500));
        TestBed.now(ended);
        assertThat(TestBed.now(there.call(TestBed.requests(1)))).isEqualTo(new Call.Closed(EndReason.TERMINATED));
    }

    @Test
    void theEndOfASessionWaitsForADeadNodeNoLongerThanItsLease() {
        Session here = first.open();
        second.find(here);
        second.die();
        CompletionStage<Void> ended = here.terminate();
        bed.pass(ClusterBed.LEASE.plusSeconds(1));
        TestBed.now(ended);
    }

    @Test
    void aNodeThatIsJoiningASessionDoesNotServeItOnceItsEndIsAnswered() {
        Session here = first.open();
        second.store.holdAnswers(FlakyCluster.Question.JOIN);
        CompletionStage<Finding> finding = second.engine.find(here.id(), "");
        bed.settle();
        CompletionStage<Void> ended = here.terminate();
        bed.pass(Duration.ofMillis(10));
        second.store.holdNoMore(FlakyCluster.Question.JOIN);
        second.store.letGo();
        bed.pass(ClusterBed.LEASE.plusSeconds(1));
        TestBed.now(ended);
        assertServesNothing(finding);
    }

    @Test
    void aNodeThatJoinsASessionJustBeforeItsEndDoesNotServeItOnceThatIsAnswered() {
        Session here = first.open();
        first.store.hold(FlakyCluster.Question.DELETE);
        CompletionStage<Void> ended = here.terminate();
        bed.settle();
        CompletionStage<Finding> finding = second.engine.find(here.id(), "");
        bed.settle();
        first.store.letGo();
        bed.pass(Duration.ofMillis(500));
        TestBed.now(ended);
        assertServesNothing(finding);
    }

    private void assertServesNothing(CompletionStage<Finding> finding) {
        if (TestBed.now(finding) instanceof Finding.Found found) {
            CompletionStage<Call.Outcome> outcome = found.session().call(TestBed.requests(1));
            bed.settle();
            if (TestBed.now(outcome) instanceof Call.Accepted accepted) {
                accepted.call().dispatch();
                bed.settle();
            }
        }
        assertThat(second.backend.lives)
                .allSatisfy(life -> assertThat(life.calls).isEmpty());
    }

    @Test
    void aCallThatWasRefusedWhileTheStoreWasFullLeavesNothing() {
        Session session = first.open();
        bed.listen(session);
        Connection call = unheard(first, session, 1);
        first.store.decree(Collections.nCopies(20, FlakyCluster.Fate.LOST).toArray(FlakyCluster.Fate[]::new));
        first.backend.life().call(1).respond();
        bed.pass(Duration.ofSeconds(5));
        assertThat(bed.read(call)).isEmpty();
        assertThat(call.reason()).isEqualTo(EndReason.STORE_FAILED);
        call.inOrder();
        bed.pass(Duration.ofMinutes(3));
        bed.post(session, 2);
        assertThat(bed.kept(session, call.cursor().stream())).isEmpty();
    }

    @Test
    void whoCannotLearnWhoHadASessionDoesNotSayThatItHasEnded() {
        Session here = first.open();
        Session there = second.find(here);
        first.store.fail(FlakyCluster.Question.DELETE, true);
        CompletionStage<Void> ended = here.terminate();
        bed.pass(Duration.ofMillis(10));
        assertThat(ended.toCompletableFuture()).isCompletedExceptionally();
        first.store.fail(FlakyCluster.Question.DELETE, false);
        bed.pass(ClusterBed.LEASE.plusSeconds(1));
        assertThat(TestBed.now(there.call(TestBed.requests(1)))).isEqualTo(new Call.Closed(EndReason.TERMINATED));
    }

    @ParameterizedTest
    @EnumSource(names = {"MEMBERS", "FENCE"})
    void whatIsSetIsToldAsSetWhenTheStoreCanBeAskedWhoKnows(FlakyCluster.Question question) {
        Session here = first.open();
        Session there = second.find(here);
        bed.post(there, 1);
        second.store.deaf = true;
        first.store.fail(question, true);
        Connection set = setLevel(here);
        bed.pass(ClusterBed.LEASE.plusSeconds(1));
        assertThat(bed.read(set)).isEmpty();
        first.store.fail(question, false);
        bed.pass(ClusterBed.LEASE.plusSeconds(1));
        assertThat(bed.read(set)).containsExactly("result 7");
        assertThat(bed.members(here)).hasSize(1);
    }

    @Test
    void aCancellationIsTakenThoughTheSessionIsEndedMeanwhile() {
        Session here = first.open();
        Session there = second.find(here);
        bed.post(there, 1);
        first.store.holdAnswers(FlakyCluster.Question.MEMBERS);
        CompletionStage<Void> cancelled = here.cancel(Wire.id(1), Wire.cancelled(1));
        bed.now(there.terminate());
        first.store.letGo();
        bed.now(cancelled);
    }

    @Test
    void aNodeIsNotFencedBecauseTheQuestionForTheMembersTookLong() {
        Session here = first.open();
        Session there = second.find(here);
        bed.post(there, 1);
        first.store.hold(FlakyCluster.Question.MEMBERS);
        Connection set = setLevel(here);
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        first.store.holdNoMore(FlakyCluster.Question.MEMBERS);
        first.store.letGo();
        bed.pass(Duration.ofMillis(500));
        assertThat(bed.read(set)).containsExactly("result 7");
        assertThat(bed.members(here)).hasSize(2);
    }
}
