package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Opening;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the backend that runs the call of a dead node again has heard before, when it was said on that node. */
class InheritedCallTest {
    private static final String INITIALIZED = "notifications/initialized";
    private static final String LEVEL = "logging/setLevel";

    @AutoClose
    private final ClusterBed bed = new ClusterBed(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);

    @BeforeEach
    void start() {
        bed.nodes.forEach(node -> node.backend.harmless = "tools/call");
    }

    private void initialized(Session session) {
        assertThat(bed.now(session.notify(Wire.notification(INITIALIZED, new JournalChange.Put(INITIALIZED)))))
                .isEmpty();
        bed.settle();
    }

    private void setLevel(Session session, ClusterBed.Node node, int id) {
        InboundMessage request = Wire.request(Wire.id(id), LEVEL, new JournalChange.Put(LEVEL));
        TestBed.accepted(session.call(List.of(request))).dispatch();
        node.backend.life().call(id).respond();
        bed.settle();
    }

    private void dies(ClusterBed.Node node) {
        node.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
    }

    @Test
    void aBackendThatIsThereHearsFirstWhatWasSaidBesideIt() {
        Session here = first.open();
        Session there = second.find(here);
        bed.post(there, 1);
        initialized(here);
        setLevel(here, first, 2);
        Connection call = bed.post(here, 3);
        dies(first);
        Connection reader = bed.resume(there, call.cursor());
        assertThat(second.backend.life().heard)
                .containsExactly("tools/call 1", INITIALIZED, LEVEL + " 2", "tools/call 3");
        second.backend.life().call(3).respond();
        assertThat(bed.read(reader)).containsExactly("result 3");
    }

    @Test
    void itWaitsUntilThatCanBeRead() {
        Session here = first.open();
        Session there = second.find(here);
        bed.post(there, 1);
        second.store.fail(FlakyCluster.Question.LOOK, true);
        initialized(here);
        second.store.fail(FlakyCluster.Question.LOOK, false);
        Connection call = bed.post(here, 2);
        dies(first);
        second.store.hold(FlakyCluster.Question.READ);
        CompletionStage<Resume> resume = there.resume(call.cursor());
        bed.settle();
        // all that is asked about the call itself is on its way
        second.store.fail(FlakyCluster.Question.LOOK, true);
        second.store.letGo();
        bed.pass(ClusterBed.LEASE.multipliedBy(2));
        Connection reader = Connection.resumed(resume);
        assertThat(bed.read(reader)).isEmpty();
        assertThat(second.backend.life().heard).containsExactly("tools/call 1");
        second.store.fail(FlakyCluster.Question.LOOK, false);
        bed.pass(Duration.ofSeconds(1));
        assertThat(second.backend.life().heard).containsExactly("tools/call 1", INITIALIZED, "tools/call 2");
        second.backend.life().call(2).respond();
        assertThat(bed.read(reader)).containsExactly("result 2");
    }

    @Test
    void aBackendThatIsOpenedForItIsAsTheOneBefore() {
        Session here = first.open();
        Session there = second.find(here);
        initialized(here);
        Connection call = bed.post(here, 1);
        dies(first);
        bed.resume(there, call.cursor());
        assertThat(second.backend.lives).hasSize(1);
        assertThat(second.backend.life().heard).containsExactly(INITIALIZED, "tools/call 1");
    }

    @Test
    void aSessionThatWasInitializedElsewhereRunsIt() {
        Session here = ((Opening.Awaiting) TestBed.now(second.engine.open("", TestBed.LIFETIME))).session();
        Connection listening = bed.listen(here);
        Session there = first.find(here);
        TestBed.accepted(there.call(List.of(Wire.initialize()))).dispatch();
        initialized(there);
        TestBed.accepted(there.call(TestBed.requests(1))).dispatch();
        assertThat(bed.read(listening)).containsExactly("result 0");
        dies(first);
        bed.pass(ClusterBed.LEASE.multipliedBy(5));
        assertThat(bed.read(listening)).containsExactly("result 0");
        assertThat(second.backend.life().heard).containsExactly(INITIALIZED, "tools/call 1");
        second.backend.life().call(1).respond();
        assertThat(bed.read(listening)).containsExactly("result 0", "result 1");
    }
}
