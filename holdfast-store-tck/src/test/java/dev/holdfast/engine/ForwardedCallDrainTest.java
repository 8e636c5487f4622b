package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.spi.JournalChange;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A node that ends, or forgets a session, while a call is on its way from there to the node that has the backend. */
class ForwardedCallDrainTest {
    @AutoClose
    private final ClusterBed bed = ClusterBed.once(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);

    @Test
    void aNodeThatDrainsWaitsForTheOutcomeOfACallThatItHasForwarded() {
        Session here = first.open();
        Session there = second.find(here);
        second.store.deaf = true;
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.settle();
        assertThat(first.backend.life().calls).hasSize(1);
        CompletionStage<Void> drained = second.engine.drain(Duration.ofSeconds(20));
        bed.pass(Duration.ofSeconds(2));
        assertThat(outcome.toCompletableFuture()).isNotDone();
        assertThat(drained.toCompletableFuture()).isNotDone();
        second.store.deaf = false;
        bed.pass(Duration.ofSeconds(2));
        Connection call = bed.connected(outcome);
        call.handover();
        bed.pass(Duration.ofSeconds(1));
        TestBed.now(drained);
        first.backend.life().call(1).respond();
        assertThat(bed.read(bed.resume(third.find(here), call.cursor()))).containsExactly("result 1");
    }

    @Test
    void aNodeThatDrainsWaitsNoLongerForAForwardedCallThanForOthers() {
        Session here = first.open();
        Session there = second.find(here);
        second.store.deaf = true;
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        CompletionStage<Void> drained = second.engine.drain(Duration.ofSeconds(20));
        bed.pass(Duration.ofSeconds(19));
        assertThat(drained.toCompletableFuture()).isNotDone();
        bed.pass(Duration.ofSeconds(5));
        TestBed.now(drained);
        assertThat(TestBed.now(outcome)).isEqualTo(new Call.Undecided());
        assertThat(first.backend.life().calls).hasSize(1);
    }

    @Test
    void aNodeThatDrainsForwardsCallsUntilItSendsItsClientsAway() {
        Session here = first.open();
        Session there = second.find(here);
        Connection listening = bed.listen(there);
        Connection own = bed.post(second.open(), 1);
        CompletionStage<Void> drained = second.engine.drain(Duration.ofSeconds(20));
        Connection call = bed.post(there, 2);
        first.backend.life().call(2).respond();
        assertThat(bed.read(call)).containsExactly("result 2");
        call.inOrder();
        second.backend.life().call(1).respond();
        assertThat(bed.read(own)).containsExactly("result 1");
        own.inOrder();
        bed.pass(Duration.ofMillis(50));
        assertThat(listening.reason()).isEqualTo(EndReason.DRAINED);
        CompletionStage<Call.Outcome> late = there.call(TestBed.requests(3));
        bed.settle();
        assertThat(TestBed.now(late)).isEqualTo(new Call.Refused(Refusal.DRAINING));
        assertThat(first.backend.life().calls).hasSize(1);
        listening.handover();
        bed.pass(Duration.ofMillis(50));
        TestBed.now(drained);
    }

    @Test
    void aSessionDoesNotLeaveANodeThatDrainsWhileACallSetsOut() {
        Session there = second.find(first.open());
        bed.post(second.open(), 1);
        second.engine.drain(Duration.ofSeconds(20));
        CompletableFuture<Call.Outcome> outcome = new CompletableFuture<>();
        bed.time.atNextLook(() -> there.call(TestBed.requests(2)).thenAccept(outcome::complete));
        bed.pass(Duration.ofMillis(15));
        Connection call = bed.connected(outcome);
        first.backend.life().call(2).respond();
        assertThat(bed.read(call)).containsExactly("result 2");
    }

    /** A session on a node that drains, and waits for a call that it has forwarded to one that is dead then. */
    private Session drainsAndTheOtherDies() {
        Session here = first.open();
        Session there = second.find(here);
        bed.listen(there);
        second.store.deaf = true;
        there.call(TestBed.requests(1));
        bed.settle();
        second.engine.drain(Duration.ofSeconds(30));
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        return there;
    }

    private void runsOnTheThird(Session session) {
        bed.post(third.find(session), 3);
        assertThat(third.backend.life().heard).endsWith("tools/call 3");
        assertThat(second.backend.lives).isEmpty();
    }

    @Test
    void aNodeThatDrainsRefusesACallOfWhichNobodyHasTheBackend() {
        Session there = drainsAndTheOtherDies();
        assertThat(TestBed.now(there.call(TestBed.requests(2)))).isEqualTo(new Call.Refused(Refusal.DRAINING));
        runsOnTheThird(there);
    }

    @Test
    void aNodeThatDrainsKeepsWhatAClientSaysOfItselfForTheNextBackend() {
        Session there = drainsAndTheOtherDies();
        String initialized = "notifications/initialized";
        assertThat(TestBed.now(there.notify(Wire.notification(initialized, new JournalChange.Put(initialized)))))
                .isEmpty();
        assertThat(TestBed.now(there.notify(Wire.notification("notifications/roots"))))
                .contains(Refusal.DRAINING);
        runsOnTheThird(there);
        assertThat(third.backend.life().heard).startsWith(initialized);
    }

    @Test
    void aSessionStaysWhileItsForwardedCallHasNoOutcome() {
        Session here = first.open();
        Session there = second.find(here);
        second.store.deaf = true;
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.pass(TestBed.IDLE.multipliedBy(2));
        assertThat(outcome.toCompletableFuture()).isNotDone();
        assertThat(second.engine.size()).isOne();
        second.store.deaf = false;
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        Connection call = bed.connected(outcome);
        first.backend.life().call(1).respond();
        assertThat(bed.read(call)).containsExactly("result 1");
        call.inOrder();
        bed.pass(TestBed.IDLE.plusSeconds(1));
        assertThat(second.engine.size()).isZero();
    }
}
