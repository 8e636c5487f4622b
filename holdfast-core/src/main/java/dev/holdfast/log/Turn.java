package dev.holdfast.log;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import java.util.concurrent.CompletableFuture;

/** What is to be done when a step is over. */
sealed interface Turn {
    /** What one append carries. */
    final class Batch implements Turn {
        private final Epoch epoch;
        private final Append append;
        /** The last offset of the listening stream with this batch, where the store has placed its events. */
        private volatile long listening;

        Batch(Epoch epoch, Append append) {
            this.epoch = epoch;
            this.append = append;
        }

        Epoch epoch() {
            return epoch;
        }

        Append append() {
            return append;
        }

        /** The store has placed its events of the listening stream: the last of them here, the others before it. */
        void placed(long last) {
            listening = last;
        }

        /** Where the store has placed the last event of the listening stream. */
        long listening() {
            return listening;
        }
    }

    /** A new epoch, which somebody waits for. */
    final class Renewal implements Turn {
        private final int nonce;
        private final CompletableFuture<Boolean> stage = new CompletableFuture<>();

        Renewal(int nonce) {
            this.nonce = nonce;
        }

        /** The random half of the epoch. */
        int nonce() {
            return nonce;
        }

        /** Completes with whether the log goes on in it. */
        CompletableFuture<Boolean> stage() {
            return stage;
        }
    }

    /** There is no batch now. */
    enum Wait implements Turn {
        /** Nothing may go to the store. */
        NOTHING,
        /** What waits is taken when the effects of the step are done. */
        LATER
    }
}
