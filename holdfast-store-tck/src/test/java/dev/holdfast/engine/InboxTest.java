package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Session;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What a node hears of others, and what it does where it hears nothing. */
class InboxTest {
    @AutoClose
    private final ClusterBed bed = new ClusterBed(2);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);

    @Test
    void whatABackendHearsOfAnotherNodeItHearsInOrderAndOnNoThreadOfTheStore() {
        Session here = first.open();
        Session there = second.find(here);
        Connection listening = bed.listen(there);
        first.backend.life().sink.send(Wire.question("\"a\""));
        first.backend.life().sink.send(Wire.question("\"b\""));
        assertThat(bed.read(listening)).hasSize(2);
        List<Runnable> tasks = new ArrayList<>();
        first.executor = tasks::add;
        there.answer(Wire.answer(new RequestId("\"a\"")));
        there.answer(Wire.answer(new RequestId("\"b\"")));
        bed.settle();
        assertThat(first.backend.life().heard).doesNotContain("answer \"a\"", "answer \"b\"");
        assertThat(tasks).as("one after the other").hasSize(1);
        tasks.remove(0).run();
        assertThat(first.backend.life().heard).containsSubsequence("answer \"a\"", "answer \"b\"");
        first.executor = Runnable::run;
        first.backend.life().sink.send(Wire.question("\"c\""));
        there.answer(Wire.answer(new RequestId("\"c\"")));
        bed.settle();
        assertThat(first.backend.life().heard).contains("answer \"c\"");
    }

    @Test
    void aListenerLearnsOfTheEndThoughNobodyTellsItsNode() {
        Session here = first.open();
        Connection listening = bed.listen(second.find(here));
        second.store.deaf = true;
        here.terminate();
        bed.pass(Duration.ofSeconds(4));
        assertThat(listening.reason()).isEqualTo(EndReason.TERMINATED);
        assertThat(second.engine.size()).isZero();
    }

    @Test
    void aSessionThatOnlyOneNodeTakesForExpiredIsFoundThere() {
        Session here = first.open();
        bed.listen(here);
        second.find(here);
        second.store.hold(FlakyCluster.Question.LOOK);
        bed.pass(TestBed.IDLE.plusSeconds(5));
        var found = second.engine.find(here.id(), "").toCompletableFuture();
        assertThat(found).as("it is on its way out of memory").isNotDone();
        second.store.letGo();
        bed.settle();
        assertThat(found).isCompleted();
        assertThat(second.has(here)).isTrue();
    }

    @Test
    void whatTheStoreCanNeverReadOfOneSessionEndsNoOther() {
        Session broken = first.open();
        Session well = first.open();
        first.store.decree(FlakyCluster.Fate.UNREADABLE);
        var sent = first.backend.lives.get(0).sink.send(Wire.notice("a")).toCompletableFuture();
        assertThat(sent).isCompletedExceptionally();
        assertThat(bed.post(well, 1).end).isEmpty();
        assertThat(first.has(broken)).as("it is lost").isFalse();
    }
}
