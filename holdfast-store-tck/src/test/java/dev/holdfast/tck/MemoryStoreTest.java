package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The store in memory keeps the contract. */
class MemoryStoreTest {
    private static final class Bed implements LossyBed {
        private Instant now = Instant.parse("2026-01-01T00:00:00Z");
        private final MemoryStore store = new MemoryStore(() -> now);

        @Override
        public SessionStore store() {
            return store;
        }

        @Override
        public long millis() {
            return now.toEpochMilli();
        }

        @Override
        public void advance(Duration duration) {
            now = now.plus(duration);
        }

        @Override
        public void loseEvents(SessionKey key) {
            store.loseEvents(key);
        }

        @Override
        public void close() {
            store.close();
        }
    }

    @Nested
    class Sessions extends SessionsContract {
        Sessions() {
            super(Bed::new);
        }
    }

    @Nested
    class Events extends EventsContract {
        Events() {
            super(Bed::new);
        }
    }

    @Nested
    class Loss extends LossContract {
        Loss() {
            super(Bed::new);
        }
    }

    @Nested
    class Epochs extends EpochsContract {
        Epochs() {
            super(Bed::new);
        }
    }

    @Nested
    class Concurrency extends ConcurrencyContract {
        Concurrency() {
            super(Bed::new);
        }
    }

    @Test
    void theMemoryStoreGivesBackTheSpaceOfExpiredSessions() {
        Bed bed = new Bed();
        for (int i = 0; i < 3; i++) {
            bed.store.create(
                    SessionKey.of("session " + i, ""), new Epoch(1, i), record(bed.millis() + 60_000L * (i + 1)));
        }
        assertThat(bed.store.size()).isEqualTo(3);
        bed.advance(Duration.ofMinutes(2));
        bed.store.create(SessionKey.of("session 3", ""), new Epoch(1, 3), record(Long.MAX_VALUE));
        assertThat(bed.store.size()).isEqualTo(2);
    }

    private static SessionRecord record(long expiresAt) {
        return new SessionRecord(
                1, SessionRecord.SESSION, "", expiresAt, SessionRecord.NO_EXTENSION, "", Map.of(), Map.of());
    }
}
