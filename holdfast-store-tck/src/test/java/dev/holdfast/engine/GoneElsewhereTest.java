package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Session;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The store has no such session any more, or none for this node, and nobody has told this node. */
class GoneElsewhereTest {
    @AutoClose
    private final ClusterBed bed = ClusterBed.once(2);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);

    private void delete(Session session) {
        TestBed.now(bed.shared.delete(SessionKey.of(session.id(), "")));
        bed.settle();
    }

    /** Fences the node that has joined last. */
    private void fenceLast(Session session) {
        Epoch last = bed.members(session).get(bed.members(session).size() - 1).epoch();
        assertThat(TestBed.now(bed.shared.fence(SessionKey.of(session.id(), ""), last)))
                .isTrue();
    }

    private void fails(CompletionStage<?> question) {
        bed.settle();
        assertThat(question.toCompletableFuture()).isCompletedExceptionally();
        bed.settle();
    }

    @Test
    void aCallFindsThatItsSessionIsNotThereAndTheNextOneToo() {
        Session here = first.open();
        Session there = second.find(here);
        delete(here);
        fails(there.call(TestBed.requests(1)));
        assertThat(second.has(here)).isFalse();
        assertThat(second.engine.size()).isZero();
        assertThat(second.news.heard).endsWith("closed: TERMINATED");
    }

    @Test
    void whoWouldListenFindsThatTheSessionIsNotThere() {
        Session here = first.open();
        Session there = second.find(here);
        delete(here);
        fails(there.listen());
        assertThat(second.has(here)).isFalse();
    }

    @Test
    void aCallUnderAnEpochThatWasFencedLetsTheNodeJoinAnew() {
        Session here = first.open();
        Session there = second.find(here);
        fenceLast(here);
        fails(there.call(TestBed.requests(1)));
        assertThat(second.news.heard).endsWith("closed: TAKEN_OVER");
        Connection call = bed.post(second.find(here), 2);
        first.backend.life().call(2).respond();
        assertThat(bed.read(call)).containsExactly("result 2");
    }

    @Test
    void whoListensUnderAnEpochThatWasFencedComesBack() {
        Session here = first.open();
        Connection listening = bed.listen(second.find(here));
        // no commit finds it: the store has been told already that the client listens
        bed.pass(Duration.ofSeconds(10));
        fenceLast(here);
        bed.pass(Duration.ofSeconds(4));
        listening.read();
        assertThat(listening.reason()).isEqualTo(EndReason.TAKEN_OVER);
        Connection again = bed.listen(second.find(here));
        first.backend.life().sink.send(Wire.notice("a"));
        assertThat(bed.read(again)).containsExactly("a");
    }

    @Test
    void whatIsSaidOfAnEpochThatWasLeftDoesNotEndTheSessionThatHasJoinedAnew() {
        Session here = first.open();
        Session there = second.find(here);
        second.store.hold(FlakyCluster.Question.TOKEN);
        CompletionStage<Call.Outcome> late = there.call(TestBed.requests(1));
        second.store.holdNoMore(FlakyCluster.Question.TOKEN);
        fenceLast(here);
        fails(there.call(TestBed.requests(2)));
        second.find(here);
        second.store.letGo();
        fails(late);
        assertThat(second.engine.size()).isOne();
    }

    @Test
    void nobodyIsToldThatWhatWasOnItsWayUnderAnEpochThatWasFencedIsInTheLog() {
        try (ClusterBed each = new ClusterBed(2)) {
            Session here = each.node(0).open();
            Session there = each.node(1).find(here);
            each.node(1).store.decree(FlakyCluster.Fate.LATE);
            ListeningSink sink = each.node(1).backend.life().sink;
            CompletionStage<Void> onItsWay = sink.send(Wire.notice("a"));
            CompletionStage<Void> behindIt = sink.send(Wire.notice("b"));
            Epoch last = each.members(here).get(1).epoch();
            TestBed.now(each.shared.fence(SessionKey.of(here.id(), ""), last));
            fails(there.listen());
            assertThat(onItsWay.toCompletableFuture()).isCompletedExceptionally();
            assertThat(behindIt.toCompletableFuture()).isCompletedExceptionally();
            assertThat(each.kept(here, StreamId.LISTENING)).isEmpty();
        }
    }
}
