package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Session;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What nodes leave behind that are gone, and what those cost who wait. */
class LeftBehindTest {
    private final ClusterBed bed = new ClusterBed(3);
    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);

    @AfterEach
    void close() {
        bed.close();
    }

    @Test
    void aDeadNodeIsNobodyWhoTakesAnswers() {
        Session here = first.open();
        Session there = second.find(here);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        there.answer(Wire.answer(new RequestId("\"q\"")));
        assertThat(bed.members(here)).hasSize(1);
        assertThat(TestBed.now(there.answer(Wire.answer(new RequestId("\"q\"")))))
                .isFalse();
    }

    @Test
    void whatANodeHasListenedForEndsWithItsLastReader() {
        Session here = first.open();
        Connection old = bed.listen(second.find(here));
        second.store.shut();
        bed.pass(ClusterBed.LEASE.plusSeconds(2));
        second.store.open();
        bed.pass(Duration.ofSeconds(2));
        Connection back = bed.listen(second.find(here));
        old.broken();
        assertThat(second.store.tails).isOne();
        back.broken();
        assertThat(second.store.tails).isZero();
    }

    @Test
    void whoWaitsForACallIsNotAskedToLookByEveryCommitOfItsSession() {
        Session here = first.open();
        Connection call = bed.post(here, 1);
        Connection reader = bed.resume(second.find(here), call.cursor());
        int before = second.store.looks;
        for (int i = 0; i < 10; i++) {
            first.backend.life().sink.send(Wire.notice("notice " + i));
            bed.settle();
        }
        assertThat(second.store.looks).isEqualTo(before);
        first.backend.life().call(1).respond();
        assertThat(bed.read(reader)).containsExactly("result 1");
    }
}
