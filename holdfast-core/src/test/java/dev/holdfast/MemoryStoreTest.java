package dev.holdfast;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a store in memory does beside the contract of a store. */
class MemoryStoreTest {
    private Instant now = Instant.EPOCH;

    @Test
    void theMemoryStoreGivesBackTheSpaceOfExpiredSessions() {
        MemoryStore store = new MemoryStore(() -> now);
        for (int i = 0; i < 3; i++) {
            store.create(SessionKey.of("session " + i, ""), new Epoch(1, i), record(60_000L * (i + 1)));
        }
        assertThat(store.size()).isEqualTo(3);
        now = now.plus(Duration.ofMinutes(2));
        store.create(SessionKey.of("session 3", ""), new Epoch(1, 3), record(Long.MAX_VALUE));
        assertThat(store.size()).isEqualTo(2);
    }

    private static SessionRecord record(long expiresAt) {
        return new SessionRecord(
                1, SessionRecord.SESSION, "", expiresAt, SessionRecord.NO_EXTENSION, "", Map.of(), Map.of());
    }
}
