package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Finding;
import dev.holdfast.Finding.Missing;
import dev.holdfast.NodeLimits;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.Unavailable;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Of two nodes one has no place for a session of the other. */
class FullNodeTest {
    private static final Duration PARK = Duration.ofSeconds(10);
    private static final Finding FULL = new Unavailable(Refusal.SESSIONS);

    @AutoClose
    private final ClusterBed bed = ClusterBed.limited(2, NodeLimits.DEFAULT.withSessions(1), PARK);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node full = bed.node(1);
    private Session session;

    @BeforeEach
    void open() {
        bed.listen(full.open());
        session = first.open();
    }

    private Finding atTheFullNode(String id) {
        return TestBed.now(full.engine.find(id, ""));
    }

    @Test
    void aSessionThatFoundNoPlaceOnANodeLivesOnWithTheOthers() {
        Connection listening = bed.listen(session);
        assertThat(atTheFullNode(session.id())).isEqualTo(FULL);
        Duration known = TestBed.IDLE.plusHours(1);

        bed.pass(known.minusSeconds(20));
        listening.inOrder();
        bed.pass(Duration.ofSeconds(30));

        assertThat(first.engine.size()).as("it waits in the store").isZero();
        assertThat(first.has(session)).isTrue();
    }

    @Test
    void aNodeThatHasNoPlaceForASessionDoesNotJoinIt() {
        full.store.hold(FlakyCluster.Question.JOIN);
        for (int i = 0; i < 3; i++) {
            assertThat(atTheFullNode(session.id())).isEqualTo(FULL);
        }
        assertThat(bed.members(session)).hasSize(1);
        assertThat(full.engine.stats().parked()).as("it is not this node's").isZero();
    }

    @Test
    void aSessionThatHasEndedIsMissingAlsoOnANodeThatHasNoPlaceForIt() {
        assertThat(atTheFullNode(session.id())).isEqualTo(FULL);
        TestBed.now(session.terminate());
        assertThat(atTheFullNode(session.id())).isEqualTo(new Missing());
        assertThat(atTheFullNode("unheard-of")).isEqualTo(new Missing());
        assertThat(full.news.heard).as("it has ended elsewhere").doesNotContain("closed: EXPIRED");
    }
}
