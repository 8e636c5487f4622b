package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Session;
import dev.holdfast.engine.TestStore.Fate;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.RecordChange;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** How long a store keeps a session that nobody serves any more. */
class UpkeepTest {
    @AutoClose
    private final TestBed bed = new TestBed();

    private long expiresAt(Session session) {
        return TestBed.now(bed.store.kept.claim(((LiveSession) session).key(), 7))
                .orElseThrow()
                .record()
                .expiresAt();
    }

    private List<RecordChange> renewals() {
        return bed.store.appended.stream()
                .map(Append::changes)
                .flatMap(List::stream)
                .filter(RecordChange.Expires.class::isInstance)
                .toList();
    }

    @Test
    void aSessionIsKeptAnHourLongerThanItWaits() {
        Session session = bed.open();
        long expected = TestBed.IDLE.plusHours(1).toMillis();
        assertThat(expiresAt(session) - bed.time.millis()).isEqualTo(expected);
    }

    @Test
    void aSessionThatLivesIsRenewedTwiceAnHour() {
        Session session = bed.open();
        TestBed.listen(session);
        bed.pass(Duration.ofMinutes(29));
        assertThat(renewals()).isEmpty();
        bed.pass(Duration.ofHours(2).plusMinutes(2));
        assertThat(renewals()).hasSize(5);
        assertThat(expiresAt(session) - bed.time.millis())
                .isGreaterThan(TestBed.IDLE.plusMinutes(30).toMillis());
    }

    @Test
    void aRenewalThatFailedIsMadeAgain() {
        Session session = bed.open();
        TestBed.listen(session);
        bed.store.decree(Fate.LOST);
        bed.pass(Duration.ofMinutes(31));
        assertThat(expiresAt(session) - bed.time.millis())
                .isGreaterThan(TestBed.IDLE.plusMinutes(58).toMillis());
    }
}
