package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Lifetime;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Sessions of a cluster that end when the last of several connections breaks. */
class GracelessClusterTest {
    private static final Lifetime GRACELESS = TestBed.LIFETIME.withGrace(Duration.ZERO);
    private static final Duration MOMENT = Duration.ofSeconds(2);

    @AutoClose
    private final ClusterBed bed = new ClusterBed(2);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);

    private Session open() {
        Opening opening = TestBed.now(first.engine.open(Wire.initialize(), "", GRACELESS));
        return first.find(((Opening.Opened) opening).session());
    }

    private boolean isKept(Session session) {
        return TestBed.now(bed.shared.look(SessionKey.of(session.id(), ""))).isPresent();
    }

    @Test
    void aStreamThatBreaksEndsNothingWhileTheClientListensOnAnotherNode() {
        Session here = open();
        Connection listening = bed.listen(second.find(here));
        Connection call = bed.post(here, 1);
        call.broken();
        bed.pass(MOMENT);
        assertThat(listening.end).isEmpty();
        first.backend.life().call(1).respond();
        assertThat(bed.read(bed.resume(second.find(here), call.cursor()))).containsExactly("result 1");
        second.backend.life().sink.send(Wire.notice("a"));
        assertThat(bed.read(listening)).containsExactly("a");
        assertThat(isKept(here)).isTrue();
    }

    @Test
    void theLastStreamThatBreaksEndsTheSession() {
        Session here = open();
        Connection listening = bed.listen(second.find(here));
        Connection call = bed.post(here, 1);
        first.backend.life().call(1).respond();
        bed.read(call);
        call.broken();
        bed.pass(MOMENT);
        assertThat(first.engine.size()).isZero();
        listening.broken();
        bed.settle();
        assertThat(second.news.heard).endsWith("closed: DISCONNECTED");
        assertThat(isKept(here)).isFalse();
    }

    @Test
    void aStreamThatBreaksEndsASessionThatIsOnNoOtherNode() {
        Session here = open();
        bed.post(here, 1).broken();
        assertThat(first.news.heard).endsWith("closed: DISCONNECTED");
        assertThat(isKept(here)).isFalse();
    }

    @Test
    void theBackendGivesUpWhatRunsAtTheEnd() {
        Session here = open();
        Connection post = bed.post(here, 1);
        List<String> told = new ArrayList<>();
        first.backend.life().call(1).sink().onCancel(notification -> told.add("cancelled"));
        post.broken();
        bed.settle();
        assertThat(isKept(here)).isFalse();
        assertThat(told).containsExactly("cancelled");
    }

    @Test
    void aClientThatComesToAnotherNodeWhileThisOneAsksKeepsItsSession() {
        Session here = open();
        first.store.holdAnswers(FlakyCluster.Question.MEMBERS);
        bed.post(here, 1).broken();
        bed.settle();
        Connection listening = bed.listen(second.find(here));
        first.store.letGo();
        bed.pass(MOMENT);
        assertThat(listening.end).isEmpty();
        assertThat(isKept(here)).isTrue();
    }

    @Test
    void whileTheStoreIsAwayAStreamThatBreaksEndsTheSessionHereAlone() {
        Session here = open();
        Connection listening = bed.listen(second.find(here));
        first.store.fail(FlakyCluster.Question.MEMBERS, true);
        bed.post(here, 1).broken();
        bed.pass(MOMENT);
        first.store.fail(FlakyCluster.Question.MEMBERS, false);
        bed.pass(MOMENT);
        assertThat(listening.end).isEmpty();
        assertThat(isKept(here)).isTrue();
    }
}
