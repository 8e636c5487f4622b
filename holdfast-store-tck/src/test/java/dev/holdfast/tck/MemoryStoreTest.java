package dev.holdfast.tck;

import dev.holdfast.MemoryStore;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Nested;

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
    class Trim extends TrimContract {
        Trim() {
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
    class Expiry extends ExpiryContract {
        Expiry() {
            super(Bed::new);
        }
    }

    @Nested
    class Concurrency extends ConcurrencyContract {
        Concurrency() {
            super(Bed::new);
        }
    }
}
