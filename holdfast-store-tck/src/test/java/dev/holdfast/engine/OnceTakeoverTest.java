package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A node takes a backend over that exists once, and that has heard more than this node knows; several need it at the same time. */
class OnceTakeoverTest {
    private static final RequestId LEVEL = new RequestId("7");

    @AutoClose
    private final ClusterBed bed = ClusterBed.once(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);

    private void dispatched(CompletionStage<Call.Outcome> outcome) {
        outcome.thenAccept(call -> ((Call.Accepted) call).call().dispatch());
        bed.settle();
    }

    private CompletionStage<Call.Outcome> call(Session session, int id) {
        CompletionStage<Call.Outcome> outcome = session.call(TestBed.requests(id));
        dispatched(outcome);
        return outcome;
    }

    private static InboundMessage level() {
        return Wire.request(LEVEL, "logging/setLevel", new JournalChange.Put("logging/setLevel"));
    }

    /** Sets a log level on the first node, after the second one has joined; then the first one dies. */
    private Session setAndDie() {
        Session here = first.open();
        Session there = second.find(here);
        dispatched(here.call(List.of(level())));
        first.backend.life().call(7).sink().send(Wire.response(LEVEL));
        bed.settle();
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        return there;
    }

    @Test
    void whoComesWhileItIsTakenOverWaitsUntilTheJournalHasCaughtUp() {
        Session there = setAndDie();
        second.store.hold(FlakyCluster.Question.LOOK);
        CompletionStage<Call.Outcome> one = call(there, 1);
        CompletionStage<Call.Outcome> two = call(there, 2);
        second.store.letGo();
        bed.settle();
        assertThat(one.toCompletableFuture()).isCompleted();
        assertThat(two.toCompletableFuture()).isCompleted();
        assertThat(second.backend.lives).hasSize(1);
        assertThat(second.backend.life().heard)
                .startsWith("logging/setLevel 7")
                .contains("tools/call 1", "tools/call 2");
    }

    @Test
    void aCallOfAnotherNodeThatComesWhileItIsTakenOverWaitsForTheJournalToo() {
        Session there = setAndDie();
        Session elsewhere = third.find(there);
        second.store.hold(FlakyCluster.Question.LOOK);
        call(there, 1);
        call(elsewhere, 2);
        second.store.letGo();
        bed.pass(Duration.ofSeconds(1));
        assertThat(bed.nodes.stream().skip(1).flatMap(node -> node.backend.lives.stream()))
                .singleElement()
                .satisfies(life -> assertThat(life.heard)
                        .startsWith("logging/setLevel 7")
                        .contains("tools/call 1", "tools/call 2"));
    }

    @Test
    void whoComesAfterATakeoverThatCouldNotReadTheJournalReadsIt() {
        Session there = setAndDie();
        second.store.fail(FlakyCluster.Question.LOOK, true);
        assertThat(there.call(TestBed.requests(1)).toCompletableFuture()).isCompletedExceptionally();
        second.store.fail(FlakyCluster.Question.LOOK, false);
        call(there, 2);
        assertThat(second.backend.life().heard).containsExactly("logging/setLevel 7", "tools/call 2");
    }

    @Test
    void whoComesWhileItIsTakenOverFindsASessionThatWasInitializedOnTheDeadNode() {
        Opening opening = TestBed.now(first.engine.open("", TestBed.LIFETIME));
        Session here = ((Opening.Awaiting) opening).session();
        Session there = second.find(here);
        dispatched(here.call(List.of(Wire.initialize())));
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        second.store.hold(FlakyCluster.Question.LOOK);
        call(there, 1);
        call(there, 2);
        second.store.letGo();
        bed.settle();
        assertThat(second.backend.life().heard).containsExactlyInAnyOrder("tools/call 1", "tools/call 2");
    }

    @Test
    void whoHasTakenItOverAndWasNotToldSoOpensItForAClientThatOnlyListens() {
        Session there = setAndDie();
        bed.listen(there);
        second.store.losesToken = true;
        bed.pass(Duration.ofSeconds(8));
        assertThat(second.store.losesToken).isFalse();
        assertThat(second.backend.lives).hasSize(1);
        assertThat(second.backend.life().heard).containsExactly("logging/setLevel 7");
    }

    @Test
    void soItDoesForOneThatListensOnAnotherNode() {
        Session there = setAndDie();
        second.store.losesToken = true;
        assertThat(there.call(TestBed.requests(1)).toCompletableFuture()).isCompletedExceptionally();
        Connection listening = bed.listen(third.find(there));
        bed.pass(Duration.ofSeconds(4));
        assertThat(second.backend.life().heard).containsExactly("logging/setLevel 7");
        assertThat(third.backend.lives).isEmpty();
        second.backend.life().sink.send(Wire.notice("here"));
        assertThat(bed.read(listening)).containsExactly("here");
    }

    @Test
    void oneThatNeedsTheContextOfARequestIsOpenedForTheRequestThatNeedsIt() {
        bed.nodes.forEach(node -> node.backend.needsContext = true);
        Session there = setAndDie();
        dispatched(there.call(List.of(Wire.request(1).withContext("a header"))));
        assertThat(second.backend.life().heard).containsExactly("logging/setLevel 7", "tools/call 1");
        assertThat(second.backend.life().request.initialize().context()).isEqualTo("a header");
    }

    @Test
    void whatADeadNodeHasOnTheWireDoesNotChangeTheJournalWhicheverEpochItIsOf() {
        Session here = first.open();
        CompletionStage<Call.Outcome> orphan = call(here, 1);
        Connection reader = new Connection(TestBed.accepted(orphan).reader().orElseThrow());
        first.backend.life().call(1).sink().send(Wire.progress("1"));
        bed.read(reader);
        Session there = second.find(here);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        call(there, 2);
        Session elsewhere = third.find(here);
        bed.resume(there, reader.cursor());
        assertThat(bed.members(here)).hasSize(3);
        second.backend.answersReplayed = false;
        dispatched(there.call(List.of(level())));
        second.store.decree(FlakyCluster.Fate.LATE);
        second.backend.life().call(7).sink().send(Wire.response(LEVEL));
        second.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        call(elsewhere, 3);
        assertThat(third.backend.life().heard).containsExactly("tools/call 3");
        second.store.arrive();
        assertThat(bed.record(here).journal()).doesNotContainKey("logging/setLevel");
    }
}
