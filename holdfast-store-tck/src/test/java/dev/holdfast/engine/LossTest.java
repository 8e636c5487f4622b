package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/**
 * A shared store has lost the events of a session, and not its record, as by an eviction. Whoever comes back at another node is told of
 * a gap, or gets a definite end.
 */
class LossTest {
    private static final String LOST =
            "error 1 -32603: the response to this request is lost: the session store has it no more";
    private static final String INTERRUPTED =
            "error 1 -32603: the server ended while this call was running; whether it had any effect is not known";

    @AutoClose
    private final ClusterBed bed = new ClusterBed(2);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final Session here = first.open();

    private void loseEvents() {
        bed.shared.loseEvents(SessionKey.of(here.id(), ""));
        bed.settle();
    }

    private TestBackend.Asked call(ClusterBed.Node node) {
        return node.backend.life().call(1);
    }

    private Connection gap(Connection before) {
        return gap(second.find(here).resume(before.cursor()));
    }

    private Connection gap(CompletionStage<Resume> resume) {
        bed.settle();
        assertThat(second.news.heard).anyMatch(news -> news.startsWith("gap"));
        return Connection.gap(resume);
    }

    private void dies() {
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
    }

    @Test
    void ofACallThatHasSaidNothingNothingIsLost() {
        Connection before = bed.post(here, 1);
        loseEvents();
        Connection again = bed.resume(second.find(here), before.cursor());
        call(first).respond();
        assertThat(bed.read(again)).containsExactly("result 1");
    }

    @Test
    void ofACallThatRunsAGapIsToldAndItGoesOn() {
        Connection before = bed.post(here, 1);
        call(first).sink().send(Wire.progress("1"));
        loseEvents();
        Connection again = gap(before);
        call(first).sink().send(Wire.progress("2"));
        call(first).respond();
        assertThat(bed.read(again)).containsExactly("2", "result 1");
        assertThat(again.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void aCallThatRanOnADeadNodeEndsWithItsError() {
        Connection before = bed.post(here, 1);
        call(first).sink().send(Wire.progress("1"));
        loseEvents();
        dies();
        assertThat(bed.read(gap(before))).containsExactly(INTERRUPTED);
    }

    @Test
    void theProgressOfACallThatRunsAgainDoesNotGoBack() {
        bed.nodes.forEach(node -> node.backend.harmless = "tools/call");
        Connection before = bed.post(here, 1);
        call(first).sink().send(Wire.progress("7"));
        assertThat(bed.read(before)).containsExactly("7");
        loseEvents();
        dies();
        Connection again = bed.resume(second.find(here), before.cursor());
        call(second).sink().send(Wire.progress("1"));
        call(second).respond();
        assertThat(bed.read(again)).containsExactly("result 1");
    }

    @Test
    void aResponseThatIsLostUnreadEndsWithAnError() {
        Connection before = bed.post(here, 1);
        call(first).sink().send(Wire.progress("1"));
        bed.read(before);
        call(first).respond();
        loseEvents();
        Connection again = gap(before);
        assertThat(bed.read(again)).containsExactly(LOST);
        assertThat(again.reason()).isEqualTo(EndReason.COMPLETED);
        dies();
        assertThat(bed.read(gap(before))).containsExactly(LOST);
    }

    @Test
    void aResponseThatIsLostUnderAReaderAtAnotherNodeEndsWithAnError() {
        Connection before = bed.post(here, 1);
        Connection again = bed.resume(second.find(here), before.cursor());
        second.store.hold(FlakyCluster.Question.READ);
        call(first).respond();
        loseEvents();
        second.store.letGo();
        bed.pass(Duration.ofSeconds(5));
        assertThat(bed.read(again)).containsExactly(LOST);
        assertThat(second.news.heard).filteredOn(news -> news.startsWith("gap")).hasSize(1);
    }

    @Test
    void whoHasReadTheResponseIsAtTheEnd() {
        Connection before = bed.post(here, 1);
        call(first).respond();
        bed.read(before);
        before.broken();
        loseEvents();
        assertThat(TestBed.now(second.find(here).resume(before.cursor()))).isInstanceOf(Resume.Ended.class);
    }

    @Test
    void aQuestionThatIsLostIsAGap() {
        Connection before = bed.post(here, 1);
        call(first).sink().send(Wire.question("q"));
        loseEvents();
        Connection again = gap(before);
        call(first).respond();
        assertThat(bed.read(again)).containsExactly("result 1");
    }

    @Test
    void ofTheListeningStreamAGapIsToldAndItGoesOn() {
        Connection before = bed.listen(here);
        first.backend.life().sink.send(Wire.notice("a"));
        assertThat(bed.read(before)).containsExactly("a");
        before.broken();
        first.backend.life().sink.send(Wire.notice("b"));
        bed.settle();
        loseEvents();
        Connection again = gap(before);
        first.backend.life().sink.send(Wire.notice("c"));
        assertThat(bed.read(again)).containsExactly("c");
        again.broken();
        assertThat(bed.read(bed.resume(second.find(here), again.cursor()))).isEmpty();
    }

    @Test
    void whoListensWithoutACursorIsToldOfAGapToo() {
        first.backend.life().sink.send(Wire.notice("a"));
        bed.settle();
        loseEvents();
        assertThat(bed.read(gap(second.find(here).listen()))).isEmpty();
    }

    @Test
    void anIdleListenerHasLostNothing() {
        Connection before = bed.listen(here);
        before.broken();
        loseEvents();
        assertThat(bed.read(bed.resume(second.find(here), before.cursor()))).isEmpty();
    }
}
