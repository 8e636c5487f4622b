package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Session;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A session that expires on one node, and was used last on another one, which is gone. */
class LastUseTest {
    @AutoClose
    private final ClusterBed bed = new ClusterBed(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);

    private void use(ClusterBed.Node node, Session session, Duration forSoLong) {
        for (Duration over = Duration.ZERO; over.compareTo(forSoLong) < 0; over = over.plusMinutes(1)) {
            node.find(session);
            bed.pass(Duration.ofMinutes(1));
        }
    }

    /** The first node has renewed the record after the second one did, and is idle; the second one is used last. */
    private Session usedLastOnTheSecond() {
        Session here = first.open();
        use(first, here, Duration.ofMinutes(20));
        second.find(here);
        for (int minute = 0; minute < 15; minute++) {
            second.find(here);
            first.find(here);
            bed.pass(Duration.ofMinutes(1));
        }
        second.find(here);
        bed.pass(Duration.ofSeconds(10));
        return here;
    }

    private void isThereInTime(Session session) {
        bed.pass(Duration.ofSeconds(30));
        assertThat(first.engine.size()).isZero();
        assertThat(third.has(session)).isTrue();
    }

    @Test
    void isNotDeletedWhereItExpiresThoughTheOtherNodeHasDied() {
        Session session = usedLastOnTheSecond();
        second.die();
        isThereInTime(session);
    }

    @Test
    void isNotDeletedWhereItExpiresThoughTheOtherNodeHasDrained() {
        Session session = usedLastOnTheSecond();
        second.engine.drain(Duration.ZERO);
        isThereInTime(session);
    }

    @Test
    void isDeletedWhereNoOtherNodeEverHadIt() {
        Session session = first.open();
        use(first, session, Duration.ofMinutes(40));
        bed.pass(TestBed.IDLE);
        assertThat(TestBed.now(bed.shared.look(SessionKey.of(session.id(), ""))))
                .isEmpty();
    }
}
