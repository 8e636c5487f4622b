package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Resume;
import dev.holdfast.Session;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A call's stream whose client has everything is kept no longer than its retention, wherever that client has read its end. */
class DeliveryTest {
    private static final Duration RETENTION = Duration.ofSeconds(65);

    @AutoClose
    private final ClusterBed bed = new ClusterBed(2);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);

    @Test
    void whoReadsTheEndElsewhereTellsTheWriter() {
        Session here = first.open();
        bed.listen(here);
        Connection before = bed.post(here, 1);
        before.broken();
        first.backend.life().call(1).respond();
        Connection after = bed.resume(second.find(here), before.cursor());
        assertThat(bed.read(after)).containsExactly("result 1");
        after.inOrder();
        bed.pass(RETENTION);
        assertThat(bed.kept(here, before.cursor().stream())).isEmpty();
    }

    @Test
    void whoHasTheEndAlreadyTellsTheWriter() {
        Session here = first.open();
        bed.listen(here);
        Connection before = bed.post(here, 1);
        first.backend.life().call(1).respond();
        assertThat(bed.read(before)).containsExactly("result 1");
        before.broken();
        assertThat(TestBed.now(second.find(here).resume(before.cursor()))).isInstanceOf(Resume.Ended.class);
        bed.pass(RETENTION);
        assertThat(bed.kept(here, before.cursor().stream())).isEmpty();
    }

    @Test
    void whatADeadNodeHasAnsweredIsKeptByWhoeverReadsIt() {
        Session here = first.open();
        Connection before = bed.post(here, 1);
        before.broken();
        first.backend.life().call(1).respond();
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        Session there = second.find(here);
        bed.listen(there);
        Connection after = bed.resume(there, before.cursor());
        assertThat(bed.read(after)).containsExactly("result 1");
        after.inOrder();
        bed.settle();
        assertThat(TestBed.now(there.resume(after.cursor()))).isInstanceOf(Resume.Ended.class);
        bed.pass(RETENTION);
        assertThat(bed.kept(here, before.cursor().stream())).isEmpty();
    }
}
