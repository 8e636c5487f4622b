package dev.holdfast.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Lifetime;
import dev.holdfast.SessionState;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.log.EngineClock;
import dev.holdfast.session.Lifecycle.Move;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Every arrow of the picture in {@link Lifecycle}. */
class LifecycleTest {
    private static final Duration GRACE = Duration.ofSeconds(30);
    private static final Duration IDLE = Duration.ofSeconds(90);
    private static final Duration INITIALIZATION = Duration.ofSeconds(10);
    private static final long GRACE_NANOS = GRACE.toNanos();
    private static final long IDLE_NANOS = IDLE.toNanos();
    /** Every deadline lies beyond the end of the clock's range. */
    private static final long T0 = Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(5);

    private static final EngineClock CLOCK = new EngineClock(() -> T0, InstantSource.system(), Duration.ofMillis(500));

    private final Lifecycle life = new Lifecycle(
            new Lifetime(GRACE, IDLE, Duration.ofSeconds(60), INITIALIZATION, Duration.ofHours(1)), CLOCK);

    @Test
    void anOpeningSessionHasNoDeadline() {
        assertThat(phase()).isEqualTo(SessionState.OPENING);
        assertThat(life.expire(T0 + 10 * IDLE_NANOS).leavesClosed()).isFalse();
    }

    @Test
    void anOpenedSessionWaitsForItsFirstUse() {
        life.opened(T0 + 7);
        assertThat(life.state().used()).isFalse();
        assertThat(life.expire(T0 + 7 + INITIALIZATION.toNanos() - 1).leavesClosed())
                .isFalse();
        assertThat(life.expire(T0 + 7 + INITIALIZATION.toNanos()).closes()).isTrue();
    }

    @Test
    void aStateThatWasSeenIsClosedOnlyIfItStillIsTheState() {
        life.opened(T0);
        Lifecycle.State seen = life.state();
        life.touch(T0);
        assertThat(life.closeIf(seen, EndReason.EVICTED).leavesClosed()).isFalse();
        assertThat(life.closeIf(life.state(), EndReason.EVICTED).closes()).isTrue();
        assertThat(life.closeIf(life.state(), EndReason.EXPIRED).closes()).isFalse();
        assertThat(life.state().end()).isEqualTo(EndReason.EVICTED);
    }

    @Test
    void aUsedSessionIsIdleFromThenOn() {
        life.opened(T0);
        life.touch(T0 + 7);
        assertThat(phase()).isEqualTo(SessionState.IDLE);
        expiresExactlyAt(T0 + 7 + IDLE_NANOS);
    }

    @Test
    void anAttachedSessionHasNoDeadline() {
        life.opened(T0);
        life.attach(T0 + 1);
        assertThat(phase()).isEqualTo(SessionState.ATTACHED);
        assertThat(life.expire(T0 + 100 * IDLE_NANOS).leavesClosed()).isFalse();
    }

    @Test
    void theLastConnectionThatEndedInOrderLeavesItIdle() {
        attached();
        Move move = life.detach(T0 + 2, Close.IN_ORDER);
        assertThat(phase()).isEqualTo(SessionState.IDLE);
        assertThat(move.detaches()).isFalse();
        expiresExactlyAt(T0 + 2 + IDLE_NANOS);
    }

    @Test
    void theLastConnectionThatBrokeLeavesItDetached() {
        attached();
        Move move = life.detach(T0 + 2, Close.BROKEN);
        assertThat(phase()).isEqualTo(SessionState.DETACHED);
        assertThat(move.detaches()).isTrue();
        expiresExactlyAt(T0 + 2 + GRACE_NANOS);
    }

    @Test
    void onlyTheLastConnectionCounts() {
        attached();
        life.attach(T0 + 1);
        assertThat(life.detach(T0 + 2, Close.BROKEN).detaches()).isFalse();
        assertThat(phase()).isEqualTo(SessionState.ATTACHED);
        life.detach(T0 + 3, Close.IN_ORDER);
        assertThat(phase()).isEqualTo(SessionState.IDLE);
    }

    @Test
    void aHandedOverSessionWaitsAtLeastTheGrace() {
        Lifecycle patient = new Lifecycle(new Lifetime(IDLE, GRACE, Duration.ZERO), CLOCK);
        patient.opened(T0);
        patient.attach(T0);
        patient.detach(T0, Close.HANDOVER);
        assertThat(patient.state().phase()).isEqualTo(SessionState.IDLE);
        assertThat(patient.expire(T0 + IDLE_NANOS - 1).leavesClosed()).isFalse();
        assertThat(patient.expire(T0 + IDLE_NANOS).closes()).isTrue();
    }

    @Test
    void anOrderlyEndAfterAHandoverWaitsTheIdleTimeoutOnly() {
        Lifecycle patient = new Lifecycle(new Lifetime(IDLE, GRACE, Duration.ZERO), CLOCK);
        patient.opened(T0);
        patient.attach(T0);
        patient.detach(T0, Close.HANDOVER);
        patient.attach(T0);
        patient.detach(T0, Close.IN_ORDER);
        assertThat(patient.expire(T0 + GRACE_NANOS).closes()).isTrue();
    }

    @Test
    void aNewConnectionReattachesADetachedSession() {
        detached();
        Move move = life.attach(T0 + GRACE_NANOS - 1);
        assertThat(move.reconnects()).isTrue();
        assertThat(phase()).isEqualTo(SessionState.ATTACHED);
    }

    @Test
    void aRequestWithoutAStreamTurnsDetachedIntoIdle() {
        detached();
        Move move = life.visit(T0 + 5);
        assertThat(move.reconnects()).isTrue();
        assertThat(phase()).isEqualTo(SessionState.IDLE);
        expiresExactlyAt(T0 + 5 + IDLE_NANOS);
    }

    @Test
    void aVisitOfAnIdleSessionIsNoReconnection() {
        life.opened(T0);
        assertThat(life.visit(T0 + 1).reconnects()).isFalse();
    }

    @Test
    void aRequestMovesTheDeadline() {
        detached();
        assertThat(life.touch(T0 + 9).reconnects()).isFalse();
        assertThat(phase()).isEqualTo(SessionState.DETACHED);
        expiresExactlyAt(T0 + 9 + GRACE_NANOS);
    }

    @Test
    void aRunningCallHoldsTheSessionAndItsEndMovesTheDeadline() {
        detached();
        life.callStarted(T0 + 1);
        assertThat(life.expire(T0 + 100 * IDLE_NANOS).leavesClosed()).isFalse();
        life.callEnded(T0 + 100 * IDLE_NANOS);
        expiresExactlyAt(T0 + 100 * IDLE_NANOS + GRACE_NANOS);
    }

    @Test
    void aCallThatIsReadAtOnceBringsADetachedClientBack() {
        detached();
        Lifecycle.Move move = life.callAttached(T0 + 1);
        assertThat(move.reconnects()).isTrue();
        assertThat(life.state().readers()).isOne();
        assertThat(life.state().running()).isOne();
        life.callEnded(T0 + 2);
        assertThat(life.detach(T0 + 3, Close.BROKEN).detaches()).isTrue();
    }

    @Test
    void whoComesAtTheBoundaryComesTooLate() {
        long boundary = T0 + GRACE_NANOS;
        detached();
        assertThat(life.attach(boundary).closes()).isTrue();
        assertThat(phase()).isEqualTo(SessionState.CLOSED);
    }

    @Test
    void everyRequestAtTheBoundaryClosesInsteadOfReviving() {
        long boundary = T0 + IDLE_NANOS;
        Lifetime lifetime = new Lifetime(GRACE, IDLE, Duration.ZERO);
        Lifecycle touched = new Lifecycle(lifetime, CLOCK);
        touched.opened(T0);
        assertThat(touched.touch(boundary).closes()).isTrue();
        Lifecycle visited = new Lifecycle(lifetime, CLOCK);
        visited.opened(T0);
        assertThat(visited.visit(boundary).closes()).isTrue();
        Lifecycle called = new Lifecycle(lifetime, CLOCK);
        called.opened(T0);
        assertThat(called.callStarted(boundary).closes()).isTrue();
        Lifecycle read = new Lifecycle(lifetime, CLOCK);
        read.opened(T0);
        assertThat(read.callAttached(boundary).closes()).isTrue();
    }

    @Test
    void nothingLeadsOutOfClosed() {
        attached();
        assertThat(life.close(EndReason.TERMINATED).closes()).isTrue();
        assertThat(life.close(EndReason.TERMINATED).closes()).isFalse();
        assertThat(life.opened(T0).leavesClosed()).isTrue();
        assertThat(life.attach(T0).leavesClosed()).isTrue();
        assertThat(life.detach(T0, Close.BROKEN).detaches()).isFalse();
        assertThat(life.touch(T0).leavesClosed()).isTrue();
        assertThat(life.visit(T0).leavesClosed()).isTrue();
        assertThat(life.callStarted(T0).leavesClosed()).isTrue();
        assertThat(life.callAttached(T0).leavesClosed()).isTrue();
        assertThat(life.callEnded(T0).leavesClosed()).isTrue();
        assertThat(life.state().readers()).isZero();
        assertThat(life.state().running()).isZero();
    }

    @Test
    void graceZeroEndsADetachedSessionAtOnce() {
        Lifecycle strict = new Lifecycle(new Lifetime(Duration.ZERO, IDLE, Duration.ZERO), CLOCK);
        strict.opened(T0);
        strict.attach(T0);
        strict.detach(T0, Close.BROKEN);
        assertThat(strict.expire(T0).closes()).isTrue();
    }

    @Test
    void aForeverLongLifetimeDoesNotOverflow() {
        Lifecycle eternal = new Lifecycle(
                new Lifetime(Duration.ofSeconds(Long.MAX_VALUE), Duration.ofSeconds(Long.MAX_VALUE), Duration.ZERO),
                CLOCK);
        eternal.opened(T0);
        eternal.touch(T0);
        assertThat(eternal.expire(T0 + Duration.ofDays(36_000).toNanos()).leavesClosed())
                .isFalse();
    }

    private void attached() {
        life.opened(T0);
        life.attach(T0);
    }

    private void detached() {
        attached();
        life.detach(T0, Close.BROKEN);
    }

    private SessionState phase() {
        return life.state().phase();
    }

    private void expiresExactlyAt(long boundary) {
        assertThat(life.expire(boundary - 1).leavesClosed()).isFalse();
        assertThat(life.expire(boundary).closes()).isTrue();
    }
}
