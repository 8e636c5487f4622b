package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A session's backend exists on one node of three, and serves what reaches the others. */
class OnceBackendTest {
    @AutoClose
    private final ClusterBed bed = ClusterBed.once(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);

    @Test
    void aCallOnAnotherNodeRunsWhereTheBackendIs() {
        Session here = first.open();
        Connection call = bed.post(second.find(here), 1);
        assertThat(second.backend.lives).isEmpty();
        first.backend.life().call(1).sink().send(Wire.progress("1"));
        assertThat(bed.read(call)).containsExactly("1");
        first.backend.life().call(1).respond();
        assertThat(bed.read(call)).containsExactly("1", "result 1");
        assertThat(call.reason()).isEqualTo(EndReason.COMPLETED);
        assertThat(first.backend.lives).hasSize(1);
    }

    @Test
    void aForwardedCallIsReadOnAnywhere() {
        Session here = first.open();
        Connection call = bed.post(second.find(here), 1);
        first.backend.life().call(1).sink().send(Wire.progress("1"));
        bed.read(call);
        call.broken();
        Connection back = bed.resume(third.find(here), call.cursor());
        first.backend.life().call(1).respond();
        assertThat(bed.read(back)).containsExactly("result 1");
        Connection again = bed.resume(here, call.cursor());
        bed.settle();
        assertThat(bed.read(again)).containsExactly("result 1");
    }

    @Test
    void notificationsAnswersAndCancellationsReachIt() {
        Session here = first.open();
        Session there = second.find(here);
        assertThat(TestBed.now(there.notify(Wire.notification("notifications/roots"))))
                .isEmpty();
        bed.settle();
        assertThat(first.backend.life().heard).contains("notifications/roots");
        first.backend.life().sink.send(Wire.question("\"q\""));
        TestBed.now(there.answer(Wire.answer(new RequestId("\"q\""))));
        bed.settle();
        assertThat(first.backend.life().heard).contains("answer \"q\"");
        Connection call = bed.post(there, 1);
        TestBed.now(there.cancel(Wire.id(1), Wire.cancelled(1)));
        bed.pass(Duration.ofSeconds(4));
        assertThat(bed.read(call)).isEmpty();
        assertThat(call.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void claudeAiMcp539_callsWithOneIdAreAnsweredEachOnItsOwnStreamOnEveryNode() {
        Session here = first.open();
        Connection atSecond = bed.post(second.find(here), 1);
        Connection atThird = bed.post(third.find(here), 1);
        Connection alsoAtThird = bed.post(third.find(here), 1);
        List<TestBackend.Asked> asked = first.backend.life().calls;
        for (int i = 2; i >= 0; i--) {
            asked.get(i).sink().send(Wire.progress("of call " + i));
            asked.get(i).respond();
        }
        assertThat(bed.read(atSecond)).containsExactly("of call 0", "result 1");
        assertThat(bed.read(atThird)).containsExactly("of call 1", "result 1");
        assertThat(bed.read(alsoAtThird)).containsExactly("of call 2", "result 1");
    }

    @Test
    void aCallThatNeverReachedADeadNodeIsNotTakenForAnotherOneWithItsId() {
        Session here = first.open();
        Session there = second.find(here);
        Connection before = bed.post(there, 1);
        first.backend.life().call(1).respond();
        assertThat(bed.read(before)).containsExactly("result 1");
        Connection running = bed.post(there, 1);
        first.store.deaf = true;
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.settle();
        first.die();
        bed.pass(ClusterBed.LEASE.multipliedBy(2).plusSeconds(1));
        Connection call = bed.connected(outcome);
        assertThat(second.backend.life().calls).as("it runs as a new one").hasSize(1);
        second.backend.life().call(1).sink().send(Wire.progress("new"));
        second.backend.life().call(1).respond();
        assertThat(bed.read(call)).containsExactly("new", "result 1");
        assertThat(bed.read(running))
                .containsExactly(
                        "error 1 -32603: the server ended while this call was running; whether it had any effect is not known");
    }

    @Test
    void whenItsNodeDiesTheNextOneOpensAFreshOneFromTheJournal() {
        Session here = first.open();
        RequestId level = new RequestId("7");
        CompletionStage<Call.Outcome> set = second.find(here)
                .call(List.of(Wire.request(level, "logging/setLevel", new JournalChange.Put("logging/setLevel"))));
        bed.settle();
        bed.connected(set);
        first.backend.life().call(7).sink().send(Wire.response(level));
        bed.settle();
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        Connection call = bed.post(third.find(here), 1);
        assertThat(third.backend.life().heard).containsExactly("logging/setLevel 7", "tools/call 1");
        third.backend.life().call(1).respond();
        assertThat(bed.read(call)).containsExactly("result 1");
        Connection other = bed.post(second.find(here), 2);
        third.backend.life().call(2).respond();
        assertThat(bed.read(other)).containsExactly("result 2");
        assertThat(second.backend.lives).isEmpty();
    }

    @Test
    void aCallThatItsNodeHadStartedWhenItDiedIsNotRunTwice() {
        Session here = first.open();
        Session there = second.find(here);
        second.store.deaf = true;
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.settle();
        assertThat(outcome.toCompletableFuture()).as("the answer was lost").isNotDone();
        assertThat(first.backend.life().calls).hasSize(1);
        first.die();
        bed.pass(ClusterBed.LEASE.multipliedBy(2).plusSeconds(1));
        Connection call = bed.connected(outcome);
        assertThat(bed.read(call))
                .containsExactly(
                        "error 1 -32603: the server ended while this call was running; whether it had any effect is not known");
        assertThat(second.backend.lives)
                .allSatisfy(life -> assertThat(life.calls).isEmpty());
    }

    @Test
    void aCallThatItsNodeHadAnsweredWhenItDiedIsNotRunTwice() {
        Session here = first.open();
        Session there = second.find(here);
        second.store.deaf = true;
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.settle();
        first.backend.life().call(1).respond();
        first.die();
        bed.pass(ClusterBed.LEASE.multipliedBy(2).plusSeconds(1));
        assertThat(bed.read(bed.connected(outcome))).containsExactly("result 1");
    }

    @Test
    void aCallThatNeverReachedADeadNodeIsRunAsNew() {
        Session here = first.open();
        Session there = second.find(here);
        first.store.deaf = true;
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.settle();
        first.die();
        bed.pass(ClusterBed.LEASE.multipliedBy(2).plusSeconds(1));
        Connection call = bed.connected(outcome);
        second.backend.life().call(1).respond();
        assertThat(bed.read(call)).containsExactly("result 1");
        assertThat(first.backend.life().calls).isEmpty();
    }

    @Test
    void aCallOfWhichNobodyKnowsWhetherItWasSentRunsOnce() {
        Session here = first.open();
        Session there = second.find(here);
        second.store.decreeSendings(FlakyCluster.Fate.UNANSWERED, FlakyCluster.Fate.LOST, FlakyCluster.Fate.UNANSWERED);
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.pass(Duration.ofSeconds(1));
        Connection call = bed.connected(outcome);
        first.backend.life().call(1).respond();
        assertThat(bed.read(call)).containsExactly("result 1");
        assertThat(first.backend.life().calls).hasSize(1);
    }

    @Test
    void anAnswerOfAnotherNodeThatIsLostIsGivenAgain() {
        Session here = first.open();
        Session there = second.find(here);
        first.store.decreeSendings(FlakyCluster.Fate.LOST, FlakyCluster.Fate.LOST);
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.pass(Duration.ofSeconds(1));
        first.backend.life().call(1).respond();
        assertThat(bed.read(bed.connected(outcome))).containsExactly("result 1");
    }

    @Test
    void anAnswerForWhichTheInboxHadNoRoomIsGivenWhenTheCallComesAgain() {
        Session here = first.open();
        Session there = second.find(here);
        first.store.decreeSendings(FlakyCluster.Fate.REFUSED);
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.settle();
        assertThat(outcome.toCompletableFuture()).isNotDone();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        first.backend.life().call(1).respond();
        assertThat(bed.read(bed.connected(outcome))).containsExactly("result 1");
        assertThat(first.backend.life().calls).hasSize(1);
    }

    @Test
    void aCallThatADeadNodeHadStartedUnderALaterEpochIsNotRunTwice() {
        Session here = first.open();
        Connection orphan = bed.post(here, 1);
        first.backend.life().call(1).sink().send(Wire.progress("1"));
        bed.read(orphan);
        Session heir = second.find(here);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        Connection taken = bed.post(heir, 2);
        second.backend.life().call(2).respond();
        assertThat(bed.read(taken)).containsExactly("result 2");
        Session there = third.find(here);
        bed.resume(heir, orphan.cursor());
        bed.settle();
        third.store.deaf = true;
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(3));
        bed.settle();
        assertThat(second.backend.life().calls).hasSize(2);
        second.die();
        bed.pass(ClusterBed.LEASE.multipliedBy(2).plusSeconds(1));
        assertThat(bed.read(bed.connected(outcome)))
                .containsExactly(
                        "error 3 -32603: the server ended while this call was running; whether it had any effect is not known");
        assertThat(third.backend.lives)
                .allSatisfy(life -> assertThat(life.calls).isEmpty());
    }

    @Test
    void aCallThatIsTakenElsewhereIsReadAsSoonAsTheStoreAnswersAgain() {
        Session here = first.open();
        Session there = second.find(here);
        first.store.shut();
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.settle();
        second.store.fail(FlakyCluster.Question.TOKEN, true);
        first.store.open();
        bed.pass(Duration.ofSeconds(1));
        assertThat(first.backend.life().calls).hasSize(1);
        second.store.fail(FlakyCluster.Question.TOKEN, false);
        bed.pass(Duration.ofSeconds(1));
        first.backend.life().call(1).respond();
        assertThat(bed.read(bed.connected(outcome))).containsExactly("result 1");
    }

    @Test
    void whoLosesItsLeaseWhileACallIsElsewhereDoesNotSayThatItWasRefused() {
        Session here = first.open();
        Session there = second.find(here);
        second.store.deaf = true;
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.settle();
        second.store.shut();
        bed.pass(ClusterBed.LEASE.multipliedBy(2));
        assertThat(TestBed.now(outcome)).isEqualTo(new Call.Undecided());
        assertThat(first.backend.life().calls).hasSize(1);
    }

    @Test
    void ofACallWhoseSessionIsGoneWithItsNodeNobodyKnowsWhetherItRan() {
        Session here = first.open();
        Session there = second.find(here);
        second.store.deaf = true;
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.settle();
        assertThat(first.backend.life().calls).hasSize(1);
        first.die();
        TestBed.now(bed.shared.delete(SessionKey.of(here.id(), "")));
        bed.pass(ClusterBed.LEASE.multipliedBy(2).plusSeconds(1));
        assertThat(TestBed.now(outcome)).isEqualTo(new Call.Undecided());
    }

    @Test
    void itStaysWhileAClientListensElsewhere() {
        Session here = first.open();
        Connection listening = bed.listen(second.find(here));
        bed.pass(TestBed.IDLE.multipliedBy(2));
        assertThat(first.backend.life().closed).isZero();
        first.backend.life().sink.send(Wire.notice("a"));
        assertThat(bed.read(listening)).containsExactly("a");
    }

    @Test
    void aCallWaitsForTheBackendOfANodeThatDrains() {
        Session here = first.open();
        Session there = second.find(here);
        Connection running = bed.post(there, 1);
        first.engine.drain(Duration.ofSeconds(20));
        CompletionStage<Call.Outcome> next = there.call(TestBed.requests(2));
        bed.pass(Duration.ofSeconds(1));
        assertThat(next.toCompletableFuture()).isNotDone();
        first.backend.life().call(1).respond();
        assertThat(bed.read(running)).containsExactly("result 1");
        bed.pass(Duration.ofSeconds(1));
        Connection call = bed.connected(next);
        assertThat(first.backend.life().closed).isOne();
        second.backend.life().call(2).respond();
        assertThat(bed.read(call)).containsExactly("result 2");
    }

    @Test
    void aBackendThatNobodyUsesLeavesANodeThatDrainsBeforeTheOthers() {
        Session busy = first.open();
        Connection running = bed.post(busy, 1);
        Session idle = first.open();
        Connection listening = bed.listen(idle);
        Session there = second.find(idle);
        first.engine.drain(Duration.ofSeconds(20));
        CompletionStage<Call.Outcome> next = there.call(TestBed.requests(2));
        assertThat(listening.reason()).isEqualTo(EndReason.DRAINED);
        listening.inOrder();
        bed.pass(Duration.ofSeconds(1));
        Connection call = bed.connected(next);
        second.backend.life().call(2).respond();
        assertThat(bed.read(call)).containsExactly("result 2");
        assertThat(running.end).isEmpty();
        first.backend.lives.get(0).call(1).respond();
        assertThat(bed.read(running)).containsExactly("result 1");
    }

    @Test
    void aCallDoesNotWaitForEverForABackendThatStays() {
        Session here = first.open();
        Session there = second.find(here);
        bed.post(there, 1);
        first.engine.drain(Duration.ofSeconds(60));
        CompletionStage<Call.Outcome> next = there.call(TestBed.requests(2));
        bed.pass(Duration.ofSeconds(35));
        assertThat(next.toCompletableFuture()).isCompletedExceptionally();
        assertThat(first.backend.life().calls).hasSize(1);
    }

    @Test
    void aCallThatItsNodeHasNoPlaceForIsRefusedInTheEnd() {
        Session here = first.open();
        Session there = second.find(here);
        first.executor = task -> {};
        CompletionStage<Call.Outcome> waiting = there.call(TestBed.requests(1));
        for (int i = 1; i < 1_024; i++) {
            there.notify(Wire.notification("notifications/roots"));
        }
        CompletionStage<Call.Outcome> tooMuch = there.call(TestBed.requests(2));
        bed.pass(Duration.ofSeconds(35));
        assertThat(waiting.toCompletableFuture()).isNotDone();
        assertThat(tooMuch.toCompletableFuture()).isCompletedExceptionally();
    }

    @Test
    void soIsOneBehindFewThatAreLarge() {
        Session here = first.open();
        Session there = second.find(here);
        first.executor = task -> {};
        String large = "x".repeat(4 << 20);
        for (int i = 0; i < 4; i++) {
            there.notify(Wire.notification("notifications/roots " + large));
        }
        CompletionStage<Call.Outcome> tooMuch = there.call(TestBed.requests(1));
        bed.pass(Duration.ofSeconds(35));
        assertThat(tooMuch.toCompletableFuture()).isCompletedExceptionally();
    }

    @Test
    void overHttpSseACallThatNeverReachedADeadNodeIsNotTakenForAnEarlierOneWithItsId() {
        Opening opening = TestBed.now(first.engine.open("", TestBed.LIFETIME));
        Session here = ((Opening.Awaiting) opening).session();
        TestBed.accepted(here.call(List.of(Wire.initialize()))).dispatch();
        bed.settle();
        Session there = second.find(here);
        CompletionStage<Call.Outcome> before = there.call(TestBed.requests(1));
        bed.settle();
        TestBed.accepted(before).dispatch();
        bed.settle();
        first.backend.life().call(1).respond();
        bed.settle();
        first.store.deaf = true;
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.settle();
        first.die();
        bed.pass(ClusterBed.LEASE.multipliedBy(2).plusSeconds(1));
        assertThat(TestBed.now(outcome)).isInstanceOf(Call.Accepted.class);
        TestBed.accepted(outcome).dispatch();
        bed.settle();
        assertThat(second.backend.lives).as("it runs as a new one").isNotEmpty();
        assertThat(second.backend.life().heard).contains("tools/call 1");
    }
}
