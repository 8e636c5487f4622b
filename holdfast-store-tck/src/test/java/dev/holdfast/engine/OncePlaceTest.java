package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.Session;
import java.time.Duration;
import java.util.Collections;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The node that had a session's only backend has left the session, and is back, when it hears what was sent to it before. */
class OncePlaceTest {
    @AutoClose
    private final ClusterBed bed = ClusterBed.once(3, Duration.ofSeconds(30));

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);

    private long open() {
        return bed.nodes.stream()
                .flatMap(node -> node.backend.lives.stream())
                .filter(life -> life.closed == 0)
                .count();
    }

    /** A session that the first node is about to park. */
    private Session idle() {
        Session here = first.find(first.open());
        bed.pass(Duration.ofSeconds(28));
        return here;
    }

    /** Nothing that the second node sends arrives for so long. */
    private void cut(int messages) {
        second.store.decreeSendings(
                Collections.nCopies(messages, FlakyCluster.Fate.LOST).toArray(FlakyCluster.Fate[]::new));
    }

    private void parksAndComesBack(Session here) {
        for (int i = 0; i < 50 && first.engine.size() > 0; i++) {
            bed.pass(Duration.ofMillis(100));
        }
        assertThat(first.engine.size()).isZero();
        first.find(here);
        assertThat(open()).isZero();
    }

    @Test
    void aCallThatWasSentToItDoesNotOpenASecondBackend() {
        Session here = idle();
        Session there = second.find(here);
        cut(40);
        CompletionStage<Call.Outcome> late = there.call(TestBed.requests(1));
        parksAndComesBack(here);
        bed.post(third.find(here), 2);
        assertThat(late.toCompletableFuture()).isNotDone();
        bed.pass(Duration.ofSeconds(10));
        Connection call = bed.connected(late);
        assertThat(open()).isOne();
        third.backend.life().call(1).respond();
        assertThat(bed.read(call)).containsExactly("result 1");
    }

    @Test
    void aCallThatWasSentToItRunsWhereTheNextBackendIs() {
        Session here = idle();
        Session there = second.find(here);
        cut(40);
        CompletionStage<Call.Outcome> late = there.call(TestBed.requests(1));
        parksAndComesBack(here);
        bed.pass(Duration.ofSeconds(10));
        Connection call = bed.connected(late);
        bed.post(third.find(here), 2);
        assertThat(open()).isOne();
        second.backend.life().call(1).respond();
        assertThat(bed.read(call)).containsExactly("result 1");
    }

    @Test
    void aNotificationThatWasSentToItDoesNotOpenASecondBackend() {
        Session here = idle();
        Session there = second.find(here);
        second.store.hold(FlakyCluster.Question.SEND);
        there.notify(Wire.notification("notifications/roots"));
        parksAndComesBack(here);
        second.store.letGo();
        bed.settle();
        assertThat(open()).isZero();
    }
}
