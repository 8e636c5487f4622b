package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.NodeLimits;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.SessionState;
import dev.holdfast.session.LiveSession;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What all sessions together keep, and who makes room. */
class NodeHistoryTest {
    private static final long LIMIT = 100_000;
    private static final String KILOBYTE = "x".repeat(1024);

    private final TestBed bed = new TestBed(SessionLimits.DEFAULT, NodeLimits.DEFAULT.withHistory(LIMIT, 10_000));

    @AfterEach
    void nothingIsLeftOrCounted() {
        bed.close();
        assertThat(bed.engine.stats().historyBytes()).isZero();
        assertThat(bed.engine.stats().historyEvents()).isZero();
    }

    private TestBackend.Life life(int session) {
        return bed.backend.lives.get(session);
    }

    private void notices(int session, int count) {
        for (int i = 0; i < count; i++) {
            life(session).sink.send(Wire.notice(KILOBYTE));
        }
    }

    private static int kept(Session session) {
        return ((LiveSession) session).streams().events();
    }

    @Test
    void aNoisySessionShortensItsOwnHistoryOnly() {
        Session quiet = bed.open();
        Session noisy = bed.open();
        notices(0, 20);

        notices(1, 1000);

        assertThat(kept(quiet)).isEqualTo(20);
        assertThat(kept(noisy)).isBetween(50, 80);
        assertThat(bed.engine.stats().historyBytes()).isLessThanOrEqualTo(LIMIT);
        assertThat(bed.engine.stats().dropped()).isEqualTo(1020 - 20 - kept(noisy));
        assertThat(bed.store.kept(noisy).size()).as("the store keeps no more").isEqualTo(kept(noisy));
    }

    @Test
    void theLargestComeDownToOneLevel() {
        List<Session> sessions = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            sessions.add(bed.open());
        }
        notices(0, 10);
        notices(1, 30);
        notices(2, 40);

        notices(3, 20);

        assertThat(sessions).extracting(NodeHistoryTest::kept).startsWith(10);
        assertThat(kept(sessions.get(1))).isEqualTo(kept(sessions.get(2))).isBetween(20, 30);
        assertThat(kept(sessions.get(3))).isEqualTo(20);
    }

    @Test
    void eventsCountAsWellAsBytes() {
        try (TestBed small = new TestBed(SessionLimits.DEFAULT, NodeLimits.DEFAULT.withHistory(Long.MAX_VALUE, 100))) {
            Session session = small.open();
            for (int i = 0; i < 1000; i++) {
                small.backend.life().sink.send(Wire.notice("n"));
            }
            assertThat(kept(session)).isBetween(80, 100);
        }
    }

    @Test
    void whatIsAboveAFairShareAndMayBeDroppedIsDroppedBeforeASessionEnds() {
        Session owing = bed.open();
        Session chatty = bed.open();
        notices(1, 60);

        owe(0, owing, 43);

        assertThat(owing.state()).isNotEqualTo(SessionState.CLOSED);
        assertThat(kept(owing)).isEqualTo(43);
        assertThat(kept(chatty)).isBetween(38, 42);
    }

    @Test
    void whatOthersMustNotDropIsNotPaidByASessionAtItsFairShare() {
        Session quiet = bed.open();
        notices(0, 5);
        List<Session> noisy = List.of(bed.open(), bed.open(), bed.open());
        for (int i = 0; i < 3; i++) {
            owe(i + 1, noisy.get(i), 40);
        }

        assertThat(kept(quiet)).isEqualTo(5);
        assertThat(bed.news.heard.stream().filter("closed: OVERFLOW"::equals)).hasSize(1);
        assertThat(noisy.stream().filter(session -> session.state() == SessionState.CLOSED))
                .hasSize(1);
    }

    @Test
    void theSessionThatHoldsMostEndsWhenNothingMayBeDropped() {
        Session modest = bed.open();
        Session greedy = bed.open();
        owe(0, modest, 10);

        owe(1, greedy, 200);

        assertThat(bed.news.heard).contains("closed: OVERFLOW");
        assertThat(greedy.state()).isEqualTo(SessionState.CLOSED);
        assertThat(modest.state()).isNotEqualTo(SessionState.CLOSED);
        assertThat(bed.engine.stats().historyBytes()).isEqualTo(((LiveSession) modest).weight());
    }

    /** Answers so many calls whose connection is broken: these responses must not be dropped. */
    private void owe(int life, Session session, int responses) {
        for (int id = 1; id <= responses && session.state() != SessionState.CLOSED; id++) {
            bed.post(session, id).broken();
            life(life).call(id).sink().send(Wire.out(dev.holdfast.spi.EventKind.RESPONSE, Wire.id(id), KILOBYTE));
        }
    }

    @Test
    void aClosedSessionCountsNoMoreThoughItsConnectionStillReads() {
        Session session = bed.open();
        Connection connection = TestBed.listen(session);
        notices(0, 10);
        assertThat(bed.engine.stats().historyEvents()).isEqualTo(10);

        session.terminate();

        assertThat(bed.engine.stats().historyEvents()).isZero();
        connection.read();
        connection.inOrder();
        bed.pass(Duration.ofMinutes(2));
        assertThat(bed.engine.stats().historyEvents()).isZero();
    }
}
