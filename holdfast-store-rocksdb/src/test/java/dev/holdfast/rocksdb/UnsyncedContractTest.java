package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionStore.Durability;
import dev.holdfast.tck.ConcurrencyContract;
import dev.holdfast.tck.EpochsContract;
import dev.holdfast.tck.EventsContract;
import dev.holdfast.tck.LossContract;
import dev.holdfast.tck.ReopenContract;
import dev.holdfast.tck.SessionsContract;
import dev.holdfast.tck.TornTailContract;
import dev.holdfast.tck.UnreadableContract;
import org.junit.jupiter.api.Nested;

/** The store keeps the contract without fsync. */
class UnsyncedContractTest {
    private static FolderBed bed() {
        return new FolderBed(Durability.PROCESS_DEATH);
    }

    @Nested
    class Sessions extends SessionsContract {
        Sessions() {
            super(UnsyncedContractTest::bed);
        }
    }

    @Nested
    class Events extends EventsContract {
        Events() {
            super(UnsyncedContractTest::bed);
        }
    }

    @Nested
    class Loss extends LossContract {
        Loss() {
            super(UnsyncedContractTest::bed);
        }
    }

    @Nested
    class Epochs extends EpochsContract {
        Epochs() {
            super(UnsyncedContractTest::bed);
        }
    }

    @Nested
    class Concurrency extends ConcurrencyContract {
        Concurrency() {
            super(UnsyncedContractTest::bed);
        }
    }

    @Nested
    class Reopen extends ReopenContract {
        Reopen() {
            super(UnsyncedContractTest::bed);
        }
    }

    @Nested
    class TornTail extends TornTailContract {
        TornTail() {
            super(UnsyncedContractTest::bed);
        }
    }

    @Nested
    class Unreadable extends UnreadableContract {
        Unreadable() {
            super(UnsyncedContractTest::bed);
        }
    }
}
