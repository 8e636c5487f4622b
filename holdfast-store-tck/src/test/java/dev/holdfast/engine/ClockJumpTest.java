package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.ExpiryClock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The wall clock is set, the machine sleeps, the process is stopped: no session pays for it. */
class ClockJumpTest {
    private static final Duration TICK = Duration.ofNanos(1);
    private static final Duration SWEEPS = Duration.ofSeconds(2);

    private TestBed bed = TestBed.durable();

    @AfterEach
    void close() {
        bed.close();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 75, 75 + 170, 24 * 60, 366 * 24 * 60, -75, -24 * 60, -366 * 24 * 60})
    void aStepOfTheWallClockEndsNoSessionThatIsAttachedOrRunsACall(long minutes) {
        for (TestBed each : List.of(bed, new TestBed())) {
            Session session = each.open();
            Connection listening = TestBed.listen(session);
            Connection call = each.post(session, 1);

            each.time.setForward(Duration.ofMinutes(minutes));
            each.backend.life().call(1).sink().send(Wire.progress("1"));
            each.pass(SWEEPS);
            each.time.setForward(Duration.ofMinutes(170));
            each.pass(SWEEPS);
            each.backend.life().call(1).sink().send(Wire.response(1));
            each.backend.life().sink.send(Wire.notice("after"));

            assertThat(call.read()).containsExactly("1", "result 1");
            assertThat(listening.read()).containsExactly("after");
            assertThat(each.news.heard).containsExactly("created");
            listening.inOrder();
            each.close();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {75, 24 * 60, 366 * 24 * 60, -24 * 60})
    void theRecordFollowsTheWallClockThatWasSet(long minutes) {
        Session session = bed.open();
        TestBed.listen(session);
        bed.time.setForward(Duration.ofMinutes(minutes));
        bed.pass(SWEEPS);
        long expiresAt = TestBed.now(bed.store.kept.claim(((LiveSession) session).key(), 7))
                .orElseThrow()
                .record()
                .expiresAt();
        assertThat(Duration.ofMillis(expiresAt - bed.time.millis()))
                .isBetween(TestBed.IDLE.plusMinutes(29), TestBed.IDLE.plusMinutes(61));
    }

    @Test
    void theGraceBeginsAgainWhereTheMachineWakesUp() {
        Session session = detached();
        bed.pass(TestBed.PARK_AFTER.minusSeconds(2));
        bed.time.setForward(Duration.ofHours(8));
        bed.pass(SWEEPS);
        bed.pass(TestBed.PARK_AFTER.minusSeconds(3));
        assertThat(session.state()).as("not even parked").isEqualTo(SessionState.DETACHED);
        assertThat(bed.find(session.id(), "")).isPresent();
    }

    @Test
    void aParkedSessionWaitsAnewToo() {
        Session session = detached();
        bed.pass(TestBed.GRACE.minusSeconds(2));
        assertThat(bed.engine.stats().parked()).isOne();
        bed.time.setForward(Duration.ofHours(8));
        bed.pass(TestBed.GRACE.minusSeconds(3));
        assertThat(bed.find(session.id(), "")).isPresent();
    }

    @Test
    void timeInWhichTheProcessWasStoppedIsNobodysAbsence() {
        Session session = detached();
        bed.time.freeze(Duration.ofHours(1));
        assertThat(bed.find(session.id(), ""))
                .as("asked before the first sweep")
                .isPresent();
    }

    @Test
    void aSessionStillEndsWhenItsTimeAfterTheAwakeningIsOver() {
        Session session = detached();
        bed.time.freeze(Duration.ofHours(1));
        bed.pass(TestBed.GRACE.plus(SWEEPS));
        assertThat(bed.find(session.id(), "")).isEmpty();
        assertThat(bed.news.heard).endsWith("closed: EXPIRED");
    }

    @Test
    void aCallIsNotTimedOutForTheTimeInWhichItCouldNotRun() {
        Session session = bed.open(TestBed.LIFETIME.withCall(Duration.ofMinutes(5)));
        bed.post(session, 1);
        bed.time.freeze(Duration.ofHours(1));
        bed.pass(Duration.ofMinutes(4));
        assertThat(bed.news.heard).doesNotContain("timed out");
        bed.pass(Duration.ofMinutes(2));
        assertThat(bed.news.heard).contains("timed out");
    }

    @Test
    void aStoreThatGoesByTheWallClockEndsASessionAsExpired() {
        bed.close();
        bed = TestBed.durable();
        bed.store.clock = bed.time;
        Session session = bed.open();
        TestBed.listen(session);
        bed.time.setForward(Duration.ofHours(8));
        bed.backend.life().sink.send(Wire.notice("late"));
        assertThat(bed.news.heard).endsWith("closed: EXPIRED");
    }

    @Test
    void theExpiryClockIsNeverAheadOfTheWallClockAndGoesOnEvenly() {
        AtomicLong wall = new AtomicLong(1_000_000);
        AtomicLong nanos = new AtomicLong();
        InstantSource source = () -> Instant.ofEpochMilli(wall.get());
        ExpiryClock clock = new ExpiryClock(source, nanos::get);
        wall.addAndGet(5_000_000);
        nanos.addAndGet(7_000_000);
        assertThat(clock.millis()).isEqualTo(1_000_007);
        wall.addAndGet(-8_000_000);
        assertThat(clock.millis()).isEqualTo(wall.get());
        wall.addAndGet(100_000_000);
        nanos.addAndGet(1_000_000);
        assertThat(clock.millis()).isEqualTo(-2_000_000 + 1);
    }

    private Session detached() {
        Session session = bed.open();
        Connection listening = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.notice("before"));
        listening.read();
        listening.broken();
        bed.pass(TICK);
        return session;
    }
}
