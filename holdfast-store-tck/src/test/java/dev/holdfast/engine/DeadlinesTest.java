package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Lifetime;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.spi.JournalChange;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When a session ends by time, as its client sees it. */
class DeadlinesTest {
    private static final Duration TICK = Duration.ofNanos(1);

    private final TestBed bed = new TestBed();

    @AfterEach
    void nothingIsLeft() {
        bed.close();
        assertThat(bed.engine.size()).isZero();
    }

    @Test
    void aSessionIsFoundUntilItsIdleTimeoutAndNotAtIt() {
        Session session = bed.open();
        bed.pass(TestBed.IDLE.minus(TICK));
        assertThat(found(session)).isTrue();
        bed.pass(TestBed.IDLE.minus(TICK));
        assertThat(found(session)).isTrue();
        bed.pass(TestBed.IDLE);
        assertThat(found(session)).isFalse();
        assertThat(bed.news.heard).containsExactly("created", "closed: EXPIRED");
    }

    @Test
    void theSweepEndsWhatNobodyAsksFor() {
        bed.open();
        bed.pass(TestBed.IDLE.minusSeconds(1));
        assertThat(bed.engine.size()).isOne();
        bed.pass(Duration.ofSeconds(2));
        assertThat(bed.engine.size()).isZero();
        assertThat(bed.backend.life().closed).isOne();
        assertThat(bed.store.deleted).hasSize(1);
    }

    @Test
    void aBrokenListeningConnectionLeavesTheGracePeriod() {
        Session session = bed.open();
        TestBed.listen(session).broken();
        assertThat(session.state()).isEqualTo(SessionState.DETACHED);
        bed.pass(TestBed.GRACE.minus(TICK));
        assertThat(session.state()).isEqualTo(SessionState.DETACHED);
        bed.pass(Duration.ofSeconds(1));
        assertThat(session.state()).isEqualTo(SessionState.CLOSED);
        assertThat(bed.news.heard).containsExactly("created", "detached, waiting 30 s", "closed: EXPIRED");
    }

    @Test
    void aConnectionHoldsTheSessionForEver() {
        Session session = bed.open();
        Connection connection = TestBed.listen(session);
        bed.pass(Duration.ofDays(2));
        assertThat(session.state()).isEqualTo(SessionState.ATTACHED);
        assertThat(connection.end).isEmpty();
    }

    @Test
    void aRunningCallHoldsTheSessionThoughItsConnectionBroke() {
        Session session = bed.open();
        bed.post(session, 1).broken();
        bed.pass(Duration.ofDays(2));
        assertThat(session.state()).isEqualTo(SessionState.DETACHED);
        bed.backend.life().call(1).respond();
        bed.pass(TestBed.GRACE.minus(TICK));
        assertThat(session.state()).isEqualTo(SessionState.DETACHED);
        bed.pass(Duration.ofSeconds(1));
        assertThat(session.state()).isEqualTo(SessionState.CLOSED);
    }

    @Test
    void aCancelledCallNoLongerHoldsTheSession() {
        Session session = bed.open();
        bed.post(session, 1).broken();
        session.cancel(Wire.id(1), Wire.cancelled(1));
        bed.pass(TestBed.IDLE.plusSeconds(1));
        assertThat(session.state()).isEqualTo(SessionState.CLOSED);
    }

    @Test
    void withoutGraceABrokenConnectionEndsTheSessionAndItsCalls() {
        Session session = bed.open(TestBed.LIFETIME.withGrace(Duration.ZERO));
        Connection listening = TestBed.listen(session);
        Connection call = bed.post(session, 1);
        call.broken();
        assertThat(session.state()).isEqualTo(SessionState.ATTACHED);
        listening.broken();
        assertThat(session.state()).isEqualTo(SessionState.CLOSED);
        assertThat(found(session)).isFalse();
        assertThat(bed.backend.life().closed).isOne();
        assertThat(bed.news.heard).containsExactly("created", "closed: DISCONNECTED");
    }

    @Test
    void withoutGraceAnOrderlyEndKeepsTheSession() {
        Session session = bed.open(TestBed.LIFETIME.withGrace(Duration.ZERO));
        TestBed.listen(session).inOrder();
        assertThat(session.state()).isEqualTo(SessionState.IDLE);
        bed.pass(TestBed.IDLE.minusSeconds(1));
        assertThat(found(session)).isTrue();
    }

    @Test
    void aDetachedSessionIsReattachedByListening() {
        Session session = detached();
        Connection back = TestBed.listen(session);
        assertThat(session.state()).isEqualTo(SessionState.ATTACHED);
        assertThat(bed.news.heard).containsExactly("created", "detached, waiting 30 s", "reconnected");
        assertThat(back.read()).isEmpty();
    }

    @Test
    void aDetachedSessionIsReattachedByResuming() {
        Session session = bed.open();
        Connection first = TestBed.listen(session);
        first.broken();
        TestBed.resume(session, first);
        assertThat(session.state()).isEqualTo(SessionState.ATTACHED);
        assertThat(bed.news.heard).endsWith("reconnected");
    }

    @Test
    void aDetachedSessionIsReattachedByANotification() {
        Session session = detached();
        session.notify(Wire.notification("notifications/initialized", new JournalChange.Put("initialized")));
        assertThat(session.state()).isEqualTo(SessionState.IDLE);
        assertThat(bed.news.heard).endsWith("reconnected");
    }

    @Test
    void aDetachedSessionIsReattachedByACall() {
        Session session = detached();
        bed.post(session, 1);
        assertThat(session.state()).isEqualTo(SessionState.ATTACHED);
        assertThat(bed.news.heard).endsWith("reconnected");
    }

    @Test
    void rotationWaitsAtLeastTheGrace() {
        Session session = bed.open(new Lifetime(TestBed.GRACE, Duration.ofSeconds(1), Duration.ZERO));
        TestBed.listen(session).handover();
        assertThat(session.state()).isEqualTo(SessionState.IDLE);
        bed.pass(TestBed.GRACE.minusSeconds(1));
        assertThat(session.state()).isEqualTo(SessionState.IDLE);
        bed.pass(Duration.ofSeconds(2));
        assertThat(session.state()).isEqualTo(SessionState.CLOSED);
    }

    @Test
    void deleteDuringACallAnswersItAndEndsEverything() {
        Session session = bed.open();
        Connection listening = TestBed.listen(session);
        Connection call = bed.post(session, 1);
        session.terminate();
        assertThat(call.read()).containsExactly("error 1 -32603: the session has ended: terminated by the client");
        assertThat(call.reason()).isEqualTo(EndReason.COMPLETED);
        assertThat(listening.reason()).isEqualTo(EndReason.TERMINATED);
        assertThat(found(session)).isFalse();
        assertThat(bed.backend.life().closed).isOne();
        assertThat(bed.store.deleted).hasSize(1);
        assertThat(bed.news.heard).containsExactly("created", "closed: TERMINATED");
    }

    @Test
    void whatEndsAfterTheSessionChangesNothing() {
        Session session = bed.open();
        Connection listening = TestBed.listen(session);
        Connection call = bed.post(session, 1);
        session.terminate();
        listening.broken();
        call.broken();
        session.terminate();
        bed.backend.life().call(1).respond();
        assertThat(TestBed.now(session.answer(Wire.answer(Wire.id(9))))).isFalse();
        assertThat(TestBed.now(session.listen())).isInstanceOf(Resume.Closed.class);
        assertThat(TestBed.now(session.call(TestBed.requests(2)))).isInstanceOf(Call.Closed.class);
        assertThat(bed.news.heard).containsExactly("created", "closed: TERMINATED");
    }

    private Session detached() {
        Session session = bed.open();
        TestBed.listen(session).broken();
        assertThat(session.state()).isEqualTo(SessionState.DETACHED);
        return session;
    }

    private boolean found(Session session) {
        return bed.find(session.id(), "").isPresent();
    }
}
