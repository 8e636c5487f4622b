package dev.holdfast.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Session;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A client cancels a call that is on its way to the node that has the session's only backend. */
class OnceCancelTest {
    @AutoClose
    private final ClusterBed bed = ClusterBed.once(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);
    private final Session here = first.open();
    private final Session there = second.find(here);

    private CompletionStage<Call.Outcome> call(int... ids) {
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(ids));
        bed.settle();
        return outcome;
    }

    private void cancel(Session session, int id) {
        TestBed.now(session.cancel(Wire.id(id), Wire.cancelled(id)));
        bed.settle();
    }

    private void endsCancelled(CompletionStage<Call.Outcome> outcome, int id) {
        Connection call = bed.connected(outcome);
        assertThat(bed.read(call)).isEmpty();
        assertThat(call.reason()).isEqualTo(EndReason.CANCELLED);
        assertThat(bed.record(here).running().values())
                .noneSatisfy(running -> assertThat(running.requests()).contains(Wire.id(id)));
    }

    /** A call for which the node of the backend drains, as long as another one runs. */
    private CompletionStage<Call.Outcome> waiting() {
        Connection running = bed.connected(call(1));
        first.engine.drain(Duration.ofSeconds(20));
        CompletionStage<Call.Outcome> waiting = call(2);
        bed.pass(Duration.ofSeconds(1));
        assertThat(waiting.toCompletableFuture()).isNotDone();
        assertThat(running.end).isEmpty();
        return waiting;
    }

    @Test
    void aCallThatWaitsForTheBackendEndsAndIsNotRun() {
        CompletionStage<Call.Outcome> waiting = waiting();
        cancel(there, 2);
        bed.pass(Duration.ofSeconds(1));
        endsCancelled(waiting, 2);
        first.backend.life().call(1).respond();
        bed.pass(Duration.ofSeconds(2));
        assertThat(first.backend.life().calls).hasSize(1);
        assertThat(second.backend.lives).isEmpty();
    }

    @Test
    void soItDoesWhereTheCancellationReachesAnotherNode() {
        Session elsewhere = third.find(here);
        CompletionStage<Call.Outcome> waiting = waiting();
        cancel(elsewhere, 2);
        bed.pass(Duration.ofSeconds(1));
        endsCancelled(waiting, 2);
        assertThat(first.backend.life().calls).hasSize(1);
    }

    @Test
    void ofSeveralRequestsTheOthersRun() {
        Connection running = bed.connected(call(1));
        first.engine.drain(Duration.ofSeconds(20));
        CompletionStage<Call.Outcome> waiting = call(2, 3);
        cancel(there, 2);
        first.backend.life().call(1).respond();
        bed.read(running);
        bed.pass(Duration.ofSeconds(1));
        Connection call = bed.connected(waiting);
        second.backend.life().call(3).respond();
        assertThat(bed.read(call)).containsExactly("result 3");
        assertThat(second.backend.life().heard).containsExactly("tools/call 3");
    }

    @Test
    void aCallThatIsSentOnceMoreIsNotRun() {
        second.store.decreeSendings(FlakyCluster.Fate.LOST);
        CompletionStage<Call.Outcome> outcome = call(1);
        cancel(there, 1);
        bed.pass(Duration.ofSeconds(1));
        assertThat(first.backend.life().heard).isEmpty();
        endsCancelled(outcome, 1);
    }

    @Test
    void aCallThatDoesNotKnowItsWayYetIsNotRun() {
        second.store.hold(FlakyCluster.Question.TOKEN);
        CompletionStage<Call.Outcome> outcome = call(1);
        cancel(there, 1);
        second.store.letGo();
        bed.pass(Duration.ofSeconds(1));
        assertThat(first.backend.life().heard).isEmpty();
        endsCancelled(outcome, 1);
    }

    @Test
    void aCallThatRunsIsCancelledThere() {
        Connection call = bed.connected(call(1));
        cancel(there, 1);
        bed.pass(Duration.ofSeconds(4));
        assertThat(bed.read(call)).isEmpty();
        assertThat(bed.record(here).running()).isEmpty();
    }

    @Test
    void ofOneThatSaysMuchOtherNodesHearWhichRequestItIs() {
        bed.connected(call(1, 2));
        List<String> heard = new ArrayList<>();
        for (int id = 1; id <= 2; id++) {
            first.backend
                    .life()
                    .call(id)
                    .sink()
                    .onCancel(by -> heard.add(new String(by.orElseThrow().bytes(), UTF_8)));
        }
        TestBed.now(there.cancel(Wire.id(1), Wire.notification("notifications/cancelled " + "x".repeat(5_000))));
        TestBed.now(there.cancel(Wire.id(2), Wire.cancelled(2)));
        bed.settle();
        assertThat(heard).containsExactly("cancelled 1: the client has cancelled it", "notifications/cancelled 2");
    }

    @Test
    void aCancellationThatDoesNotArriveIsNotSaidToHave() {
        bed.connected(call(1));
        second.store.decreeSendings(FlakyCluster.Fate.LOST);
        assertThat(there.cancel(Wire.id(1), Wire.cancelled(1)).toCompletableFuture())
                .isCompletedExceptionally();
        cancel(there, 1);
        assertThat(bed.record(here).running()).isEmpty();
    }

    @Test
    void oneCancellationEndsOneOfTwoCallsWithItsId() {
        Connection older = bed.connected(call(1));
        Connection newer = bed.connected(call(1));
        cancel(third.find(here), 1);
        bed.pass(Duration.ofSeconds(4));
        assertThat(bed.read(newer)).isEmpty();
        assertThat(newer.end).isPresent();
        assertThat(bed.read(older)).isEmpty();
        assertThat(older.end).isEmpty();
        first.backend.life().calls.get(0).respond();
        assertThat(bed.read(older)).containsExactly("result 1");
    }

    @Test
    void ofTwoCallsOnTheirWayTheNewerIsCancelled() {
        Connection running = bed.connected(call(1));
        first.engine.drain(Duration.ofSeconds(20));
        CompletionStage<Call.Outcome> older = call(2);
        CompletionStage<Call.Outcome> newer = call(2);
        cancel(there, 2);
        first.backend.life().call(1).respond();
        bed.read(running);
        bed.pass(Duration.ofSeconds(1));
        Connection cancelled = bed.connected(newer);
        assertThat(bed.read(cancelled)).isEmpty();
        assertThat(cancelled.reason()).isEqualTo(EndReason.CANCELLED);
        Connection call = bed.connected(older);
        second.backend.life().call(2).respond();
        assertThat(bed.read(call)).containsExactly("result 2");
    }

    /** The only call has come to the backend, which was told of its cancellation, and what it answers is not heard. */
    private void endsCancelledThere(CompletionStage<Call.Outcome> outcome) {
        List<String> told = new ArrayList<>();
        TestBackend.Asked asked = first.backend.life().call(1);
        asked.sink().onCancel(by -> told.add("told"));
        assertThat(told).containsExactly("told");
        asked.respond();
        assertThat(bed.read(bed.connected(outcome))).isEmpty();
        assertThat(bed.record(here).running()).isEmpty();
    }

    @Test
    void aCallThatItsCancellationHasPassedIsCancelledWhereItRuns() {
        Session elsewhere = third.find(here);
        second.store.hold(FlakyCluster.Question.SEND);
        CompletionStage<Call.Outcome> outcome = call(1);
        cancel(elsewhere, 1);
        second.store.letGo();
        bed.settle();
        endsCancelledThere(outcome);
    }

    @Test
    void soItIsWhereTheCancellationReachesTheNodeThatHasSentTheCallLast() {
        Session elsewhere = third.find(here);
        second.store.hold(FlakyCluster.Question.SEND);
        CompletionStage<Call.Outcome> outcome = call(1);
        third.store.decreeSendings(FlakyCluster.Fate.DONE, FlakyCluster.Fate.HELD);
        CompletionStage<Void> cancelled = elsewhere.cancel(Wire.id(1), Wire.cancelled(1));
        bed.settle();
        second.store.letGo();
        bed.settle();
        assertThat(cancelled.toCompletableFuture()).isNotDone();
        third.store.letGo();
        bed.settle();
        TestBed.now(cancelled);
        endsCancelledThere(outcome);
    }

    @Test
    void soItIsWhereTheNodeThatHasSentTheCallIsSlowToHearOfIt() {
        Session elsewhere = third.find(here);
        second.store.hold(FlakyCluster.Question.SEND);
        CompletionStage<Call.Outcome> outcome = call(1);
        List<Runnable> tasks = new ArrayList<>();
        second.executor = tasks::add;
        cancel(elsewhere, 1);
        second.store.letGo();
        bed.settle();
        second.executor = Runnable::run;
        tasks.forEach(Runnable::run);
        endsCancelledThere(outcome);
    }

    @Test
    void soItIsWhereTheCancellationReachesTheNodeOfTheBackendItself() {
        second.store.hold(FlakyCluster.Question.SEND);
        CompletionStage<Call.Outcome> outcome = call(1);
        first.store.decreeSendings(FlakyCluster.Fate.HELD);
        CompletionStage<Void> cancelled = here.cancel(Wire.id(1), Wire.cancelled(1));
        second.store.letGo();
        bed.settle();
        first.store.letGo();
        bed.settle();
        TestBed.now(cancelled);
        endsCancelledThere(outcome);
    }

    @Test
    void aCallThatWasCancelledWhereItRanIsNotRunByTheNodeThatHadNotHeardOfItYet() {
        first.store.decreeSendings(FlakyCluster.Fate.HELD);
        CompletionStage<Call.Outcome> outcome = call(1);
        assertThat(first.backend.life().heard).containsExactly("tools/call 1");
        cancel(here, 1);
        assertThat(outcome.toCompletableFuture()).isNotDone();
        first.die();
        bed.pass(ClusterBed.LEASE.plusSeconds(1));
        endsCancelled(outcome, 1);
        assertThat(second.backend.lives).isEmpty();
    }

    @Test
    void aCallOnItsWayIsCancelledAndNotTheOlderOneThatRunsWithItsId() {
        Connection running = bed.connected(call(1));
        first.engine.drain(Duration.ofSeconds(20));
        CompletionStage<Call.Outcome> waiting = call(1);
        bed.pass(Duration.ofSeconds(1));
        assertThat(waiting.toCompletableFuture()).isNotDone();
        cancel(there, 1);
        bed.pass(Duration.ofSeconds(1));
        assertThat(bed.read(running)).isEmpty();
        assertThat(running.end).as("the older call goes on").isEmpty();
    }

    @Test
    void aCallThatBeginsBehindTheCancellationOfOneThatIsOverIsNotCancelled() {
        Connection over = bed.connected(call(1));
        first.backend.life().call(1).respond();
        assertThat(bed.read(over)).containsExactly("result 1");
        Session elsewhere = third.find(here);
        bed.settle();
        // both nodes hear of it at once, and again later
        third.store.decreeSendings(
                FlakyCluster.Fate.DONE, FlakyCluster.Fate.DONE, FlakyCluster.Fate.HELD, FlakyCluster.Fate.HELD);
        CompletionStage<Void> cancelled = elsewhere.cancel(Wire.id(1), Wire.cancelled(1));
        bed.settle();
        assertThat(cancelled.toCompletableFuture()).isNotDone();
        Connection next = bed.connected(call(1));
        third.store.letGo();
        bed.settle();
        TestBed.now(cancelled);
        bed.pass(Duration.ofSeconds(4));
        assertThat(bed.read(next)).isEmpty();
        assertThat(next.end).as("the next call goes on").isEmpty();
    }

    @Test
    void aCallThatBeginsBehindTheCancellationOfAnOlderOneIsNotCancelled() {
        bed.connected(call(1));
        Session elsewhere = third.find(here);
        bed.settle();
        third.store.decreeSendings(
                FlakyCluster.Fate.DONE,
                FlakyCluster.Fate.DONE,
                FlakyCluster.Fate.HELD,
                FlakyCluster.Fate.HELD,
                FlakyCluster.Fate.HELD);
        CompletionStage<Void> cancelled = elsewhere.cancel(Wire.id(1), Wire.cancelled(1));
        bed.settle();
        assertThat(bed.record(here).running()).as("the older one is cancelled").isEmpty();
        assertThat(cancelled.toCompletableFuture()).isNotDone();
        CompletionStage<Call.Outcome> next = elsewhere.call(TestBed.requests(1));
        bed.settle();
        third.store.letGo();
        bed.settle();
        TestBed.now(cancelled);
        bed.pass(Duration.ofSeconds(4));
        Connection connected = bed.connected(next);
        assertThat(bed.read(connected)).isEmpty();
        assertThat(connected.end).as("the next call goes on").isEmpty();
    }
}
