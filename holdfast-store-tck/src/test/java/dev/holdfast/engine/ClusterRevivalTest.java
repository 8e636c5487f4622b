package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.spi.JournalChange;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A client that only listens, on one of three nodes, and whose backend goes, which exists once. */
class ClusterRevivalTest {
    /** By then the node that has the backend has heard that somebody listens on another one. */
    private static final Duration WORD = Duration.ofSeconds(4);

    private ClusterBed bed = ClusterBed.once(3);
    private ClusterBed.Node first = bed.node(0);
    private ClusterBed.Node second = bed.node(1);
    private ClusterBed.Node third = bed.node(2);

    @AfterEach
    void close() {
        bed.close();
    }

    private static void lose(ClusterBed.Node node) {
        node.backend.life().sink.lost("the process died");
    }

    private static int opened(ClusterBed.Node node) {
        return node.backend.lives.size();
    }

    private long open() {
        return bed.nodes.stream()
                .flatMap(node -> node.backend.lives.stream())
                .filter(life -> life.closed == 0)
                .count();
    }

    @Test
    void theNodeThatHadItOpensTheNextOneForAClientThatListensElsewhere() {
        Session here = first.open();
        Connection listening = bed.listen(second.find(here));
        third.find(here);
        bed.pass(WORD);
        lose(first);
        bed.pass(Duration.ofSeconds(10));
        assertThat(opened(first)).isEqualTo(2);
        assertThat(opened(second) + opened(third)).isZero();
        first.backend.life().sink.send(Wire.notice("back"));
        assertThat(bed.read(listening)).contains("back");
    }

    @Test
    void ofANodeThatDiesTheNextOneIsOpenedOnceWhoeverNeedsIt() {
        Session here = first.open();
        Connection listening = bed.listen(second.find(here));
        Session there = third.find(here);
        bed.pass(WORD);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        CompletionStage<Call.Outcome> called = there.call(TestBed.requests(1));
        bed.pass(Duration.ofSeconds(10));
        assertThat(called.toCompletableFuture()).isCompleted();
        assertThat(opened(second) + opened(third)).isOne();
        ClusterBed.Node heir = opened(second) > 0 ? second : third;
        heir.backend.life().sink.send(Wire.notice("back"));
        assertThat(bed.read(listening)).contains("back");
    }

    @Test
    void theNodeThatHasTakenItOverOpensTheNextOne() {
        Session here = first.open();
        Connection listening = bed.listen(second.find(here));
        third.find(here);
        bed.pass(WORD);
        first.die();
        bed.pass(ClusterBed.LEASE.plusSeconds(10));
        assertThat(opened(second)).isOne();
        lose(second);
        bed.pass(Duration.ofSeconds(10));
        assertThat(opened(second)).isEqualTo(2);
        assertThat(opened(third)).isZero();
        assertThat(open()).isOne();
        second.backend.life().sink.send(Wire.notice("back"));
        assertThat(bed.read(listening)).contains("back");
    }

    @Test
    void aNodeThatWakesUpAndHasLostItToAnotherOpensNone() {
        Session here = first.open();
        bed.listen(here);
        bed.pass(WORD);
        // the sweep comes before the lease is looked at
        bed.pass(Duration.ofMillis(1_200));
        first.store.frozen = true;
        lose(first);
        bed.pass(ClusterBed.LEASE.plusSeconds(1));
        bed.listen(second.find(here));
        bed.pass(Duration.ofSeconds(5));
        assertThat(opened(second)).isOne();
        first.store.frozen = false;
        bed.pass(Duration.ofSeconds(10));
        assertThat(opened(first)).isOne();
        assertThat(open()).isOne();
    }

    @Test
    void itGetsAPlaceWhereANodeMayHaveOne() {
        bed.close();
        bed = ClusterBed.once(2, 1);
        first = bed.node(0);
        second = bed.node(1);
        Session listens = first.find(first.open());
        bed.pass(Duration.ofSeconds(6));
        Session idle = first.find(first.open());
        assertThat(first.backend.lives.get(0).closed).isOne();
        bed.pass(Duration.ofSeconds(6));
        Connection listening = bed.listen(second.find(listens));
        bed.pass(WORD);
        assertThat(opened(first)).isEqualTo(3);
        assertThat(opened(second)).isZero();
        assertThat(open()).isOne();
        first.backend.life().sink.send(Wire.notice("back"));
        assertThat(bed.read(listening)).contains("back");
        lose(first);
        bed.pass(Duration.ofSeconds(10));
        assertThat(opened(first)).isEqualTo(4);
        assertThat(open()).isOne();
        assertThat(first.has(idle)).isTrue();
    }

    @Test
    void twoThatAreListenedToDoNotTakeTheOnlyPlaceFromEachOther() {
        bed.close();
        bed = ClusterBed.once(2, 1);
        first = bed.node(0);
        second = bed.node(1);
        Session one = first.find(first.open());
        bed.pass(Duration.ofSeconds(6));
        Session other = first.find(first.open());
        Connection listening = bed.listen(second.find(other));
        bed.pass(WORD);
        bed.listen(second.find(one));
        bed.pass(Duration.ofMinutes(3));
        assertThat(opened(first)).isEqualTo(2);
        assertThat(open()).isOne();
        assertThat(opened(second)).isZero();
        first.backend.life().sink.send(Wire.notice("here"));
        assertThat(bed.read(listening)).contains("here");
    }

    @Test
    void aNodeThatLearnsThatItsSessionWasInitializedOnAnotherOpensNone() {
        Opening opening = TestBed.now(first.engine.open("", TestBed.LIFETIME));
        Session here = ((Opening.Awaiting) opening).session();
        Connection listening = bed.listen(second.find(here));
        TestBed.accepted(here.call(List.of(Wire.initialize()))).dispatch();
        String initialized = "notifications/initialized";
        here.notify(Wire.notification(initialized, new JournalChange.Put(initialized)));
        bed.pass(TestBed.IDLE.plusSeconds(5));
        assertThat(second.has(here)).isTrue();
        assertThat(opened(second)).isZero();
        first.backend.life().sink.send(Wire.notice("here"));
        assertThat(bed.read(listening)).contains("here");
    }
}
