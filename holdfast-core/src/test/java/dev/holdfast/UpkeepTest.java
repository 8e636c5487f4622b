package dev.holdfast;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.TestStore.Fate;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.MessageFactory.Introduction;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How long a store keeps a session that nobody serves any more. */
class UpkeepTest {
    private final TestBed bed = new TestBed();

    @AfterEach
    void close() {
        bed.close();
    }

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

    @Test
    void whatAnEarlierVersionHasKeptOpens() {
        RecordExtension now = new RecordExtension(TestBed.LIFETIME, 3, 14, true, new Introduction(15, (byte) 5));
        byte[] packed = now.pack();
        assertThat(RecordExtension.of(record(packed))).isEqualTo(now);
        byte[] earlier = Arrays.copyOf(packed, packed.length - Long.BYTES - 1);
        assertThat(RecordExtension.of(record(earlier)))
                .isEqualTo(new RecordExtension(TestBed.LIFETIME, 3, 14, true, Introduction.NONE));
        byte[] first = Arrays.copyOf(earlier, earlier.length - 1);
        assertThat(RecordExtension.of(record(first)))
                .isEqualTo(new RecordExtension(TestBed.LIFETIME, 3, 14, false, Introduction.NONE));
    }

    @Test
    void whatAnotherVersionHasKeptIsLeftToIt() {
        byte[] other = new RecordExtension(TestBed.LIFETIME, 3, 14, true, Introduction.NONE).pack();
        other[0]++;
        assertThatThrownBy(() -> RecordExtension.of(record(other)))
                .isInstanceOf(StoreUnavailableException.class)
                .hasRootCauseMessage("the session was kept by another version of this library");
        assertThatThrownBy(() -> RecordExtension.of(record(new byte[] {1, 2, 3})))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void theMemoryStoreGivesBackTheSpaceOfExpiredSessions() {
        MemoryStore store = new MemoryStore(bed.time);
        for (int i = 0; i < 3; i++) {
            store.create(SessionKey.of("session " + i, ""), new Epoch(1, i), record(60_000L * (i + 1)));
        }
        assertThat(store.size()).isEqualTo(3);
        bed.pass(Duration.ofMinutes(2));
        store.create(SessionKey.of("session 3", ""), new Epoch(1, 3), record(Long.MAX_VALUE));
        assertThat(store.size()).isEqualTo(2);
    }

    private static SessionRecord record(long expiresAt) {
        return new SessionRecord(
                1, SessionRecord.SESSION, "", expiresAt, SessionRecord.NO_EXTENSION, "", Map.of(), Map.of());
    }

    private static SessionRecord record(byte[] extension) {
        return new SessionRecord(1, SessionRecord.SESSION, "", 0, extension, "", Map.of(), Map.of());
    }
}
