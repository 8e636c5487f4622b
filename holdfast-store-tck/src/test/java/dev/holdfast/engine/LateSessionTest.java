package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.Finding;
import dev.holdfast.Opening;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A node loses its lease, and begins again, while a session is on its way into its memory; its backend exists once. */
class LateSessionTest {
    @AutoClose
    private final ClusterBed bed = ClusterBed.once(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);

    private void beginsAgain(ClusterBed.Node node) {
        node.store.frozen = true;
        bed.pass(ClusterBed.LEASE.plusSeconds(1));
        node.store.frozen = false;
        bed.pass(Duration.ofSeconds(2));
        assertThat(node.engine.mayWrite()).isTrue();
    }

    private void serves(ClusterBed.Node node, Session session) {
        Connection call = bed.post(node.find(session), 1);
        node.backend.life().call(1).respond();
        assertThat(bed.read(call)).containsExactly("result 1");
    }

    @Test
    void aSessionThatWasCreatedUnderALeaseThatIsLostIsServedUnderTheNext() {
        first.store.hold(FlakyCluster.Question.CREATE);
        CompletionStage<Opening> opening = first.engine.open(Wire.initialize(), "", TestBed.LIFETIME);
        beginsAgain(first);
        first.store.letGo();
        Session session = ((Opening.Opened) TestBed.now(opening)).session();
        serves(first, session);
        assertThat(first.news.heard).contains("parked");
        assertThat(first.backend.lives.get(0).closed).isOne();
    }

    @Test
    void aSessionThatWasJoinedUnderALeaseThatIsLostIsServedUnderTheNext() {
        Session here = first.open();
        second.store.hold(FlakyCluster.Question.JOIN);
        CompletionStage<Finding> finding = second.engine.find(here.id(), "");
        beginsAgain(second);
        second.store.letGo();
        TestBed.now(finding);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        serves(second, here);
    }

    @Test
    void anEpochThatWasAskedForUnderALeaseThatIsLostDoesNotTakeThePlaceOfTheNext() {
        Session here = first.open();
        CompletionStage<Call.Outcome> orphan = here.call(TestBed.requests(2));
        Connection reader = bed.connected(orphan);
        Session there = second.find(here);
        third.find(here);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        second.store.hold(FlakyCluster.Question.JOIN);
        CompletionStage<Resume> resume = there.resume(reader.cursor());
        second.store.holdNoMore(FlakyCluster.Question.JOIN);
        assertThat(resume.toCompletableFuture()).isNotDone();
        beginsAgain(second);
        second.find(here);
        second.store.letGo();
        bed.settle();
        serves(second, here);
    }

    @Test
    void aNameIsTakenUntilItsSessionHasLeftThisNodeThoughTheStoreHasItNoMore() {
        first.backend.propose("taken");
        Session ending = first.open("alice");
        first.store.holdAnswers(FlakyCluster.Question.DELETE);
        ending.terminate();
        first.backend.lives.clear();
        CompletionStage<Opening> opening = first.engine.open(Wire.initialize(), "alice", TestBed.LIFETIME);
        first.store.letGo();
        bed.settle();
        assertThat(opening.toCompletableFuture()).isCompletedExceptionally();
        assertThat(first.backend.life().closed).isOne();
        assertThat(first.has(ending, "alice")).isFalse();
        SharedSessionStore.Counted counted =
                TestBed.now(bed.shared.count("alice", SessionKey.of("other", "alice"), Long.MAX_VALUE, 1));
        assertThat(counted.counts()).isTrue();
    }

    @Test
    void aNameIsFreeAsSoonAsItsSessionHasLeftThisNode() {
        first.backend.propose("free again");
        first.open().terminate();
        bed.settle();
        first.backend.lives.clear();
        serves(first, first.open());
    }
}
