package dev.holdfast.tck;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.ForkJoinPool;
import org.junit.jupiter.api.Nested;

/** The cluster in memory keeps the contract of a store, and that of one that nodes share. */
class MemoryClusterTest {
    private static final class Bed implements SharedBed, LossyBed {
        private volatile Instant now = Instant.parse("2026-01-01T00:00:00Z");
        private final MemoryCluster store = new MemoryCluster(() -> now, ForkJoinPool.commonPool());

        @Override
        public SharedSessionStore store() {
            return store;
        }

        @Override
        public SharedSessionStore elsewhere() {
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

    @Nested
    class Shared extends SharedContract {
        Shared() {
            super(Bed::new);
        }
    }

    @Nested
    class Principals extends PrincipalsContract {
        Principals() {
            super(Bed::new);
        }
    }

    @Nested
    class Bus extends BusContract {
        Bus() {
            super(Bed::new);
        }
    }
}
