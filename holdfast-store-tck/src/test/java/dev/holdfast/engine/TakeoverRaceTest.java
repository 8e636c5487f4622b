package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Session;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Connections and nodes that take over the same thing at the same time: the newest gets it, and nobody is left out. */
class TakeoverRaceTest {
    private static final String INTERRUPTED =
            "-32603: the server ended while this call was running; whether it had any effect is not known";

    @AutoClose
    private final ClusterBed bed = new ClusterBed(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);

    @Test
    void callsOfADeadNodeThatAreReadAtTheSameTimeAllEnd() {
        Session here = first.open();
        Connection one = bed.post(here, 1);
        Connection two = bed.post(here, 2);
        Session there = second.find(here);
        // so that the second node needs a newer epoch
        third.find(here);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        second.store.hold(FlakyCluster.Question.JOIN);
        var resumed = there.resume(one.cursor());
        var other = there.resume(two.cursor());
        second.store.letGo();
        assertThat(bed.read(Connection.resumed(resumed))).containsExactly("error 1 " + INTERRUPTED);
        assertThat(bed.read(Connection.resumed(other))).containsExactly("error 2 " + INTERRUPTED);
    }

    @Test
    void aListenerThatIsSupersededBeforeItHasBegunEnds() {
        Session here = first.open();
        Session there = second.find(here);
        first.store.hold(FlakyCluster.Question.LOOK);
        var late = here.listen();
        Connection newest = bed.listen(there);
        first.store.letGo();
        Connection oldest = Connection.resumed(late);
        bed.settle();
        assertThat(oldest.reason()).isEqualTo(EndReason.SUPERSEDED);
        second.backend.life().sink.send(Wire.notice("a"));
        assertThat(bed.read(newest)).containsExactly("a");
        assertThat(bed.read(oldest)).isEmpty();
    }

    @Test
    void aReaderOfACallThatIsSupersededBeforeItHasBegunEnds() {
        Session here = first.open();
        Connection posted = bed.post(here, 1);
        Session there = second.find(here);
        Session elsewhere = third.find(here);
        first.backend.life().call(1).sink().send(Wire.progress("1"));
        bed.read(posted);
        second.store.hold(FlakyCluster.Question.READ);
        var late = there.resume(posted.cursor());
        Connection newest = bed.resume(elsewhere, posted.cursor());
        second.store.letGo();
        Connection oldest = Connection.resumed(late);
        bed.settle();
        assertThat(oldest.reason()).isEqualTo(EndReason.SUPERSEDED);
        first.backend.life().call(1).respond();
        assertThat(bed.read(newest)).containsExactly("result 1");
    }
}
