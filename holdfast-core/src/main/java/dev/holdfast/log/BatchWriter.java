package dev.holdfast.log;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import java.util.concurrent.CompletionStage;
import java.util.function.LongConsumer;

/** The way of a session's batches, one at a time, into its store. */
public interface BatchWriter {
    /** Whether anybody keeps what is written: else it is committed when the step is over, and nothing is written. */
    boolean keeps();

    /** Whether the store gives the events of the listening stream their offsets. */
    boolean places();

    /**
     * Completes when the store has the batch.
     *
     * @param placed called before that with the last offset of the listening stream, where the store {@link #places}
     */
    CompletionStage<Void> write(SessionKey key, Epoch epoch, Append append, LongConsumer placed);

    /** The way into a store that no other node writes to. */
    static BatchWriter into(SessionStore store) {
        boolean keeps = store.promise().keeps();
        return new BatchWriter() {
            @Override
            public boolean keeps() {
                return keeps;
            }

            @Override
            public boolean places() {
                return false;
            }

            @Override
            public CompletionStage<Void> write(SessionKey key, Epoch epoch, Append append, LongConsumer placed) {
                return store.append(key, epoch, append);
            }
        };
    }
}
