package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionStore.Durability;
import dev.holdfast.tck.ConcurrencyContract;
import dev.holdfast.tck.EpochsContract;
import dev.holdfast.tck.EventsContract;
import dev.holdfast.tck.ReopenContract;
import dev.holdfast.tck.SessionsContract;
import dev.holdfast.tck.TornTailContract;
import dev.holdfast.tck.UnreadableContract;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The store keeps the contract with fsync. */
@Tag("jdk")
class SyncedContractTest {
    private static FolderBed bed() {
        return new FolderBed(Durability.POWER_LOSS);
    }

    @Nested
    class Sessions extends SessionsContract {
        Sessions() {
            super(SyncedContractTest::bed);
        }
    }

    @Nested
    class Events extends EventsContract {
        Events() {
            super(SyncedContractTest::bed);
        }
    }

    @Nested
    class Epochs extends EpochsContract {
        Epochs() {
            super(SyncedContractTest::bed);
        }
    }

    @Nested
    class Concurrency extends ConcurrencyContract {
        Concurrency() {
            super(SyncedContractTest::bed);
        }
    }

    @Nested
    class Reopen extends ReopenContract {
        Reopen() {
            super(SyncedContractTest::bed);
        }
    }

    @Nested
    class TornTail extends TornTailContract {
        TornTail() {
            super(SyncedContractTest::bed);
        }
    }

    @Nested
    class Unreadable extends UnreadableContract {
        Unreadable() {
            super(SyncedContractTest::bed);
        }
    }
}
