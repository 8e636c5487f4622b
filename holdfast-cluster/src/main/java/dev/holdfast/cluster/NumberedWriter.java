package dev.holdfast.cluster;

import dev.holdfast.log.BatchWriter;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.TooLargeException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Numbers the batches of one session, so that each may be sent again. The store places events of the listening stream. */
final class NumberedWriter implements BatchWriter {
    private final NodeStore store;
    private @Nullable Epoch epoch;
    private long number;

    NumberedWriter(NodeStore store) {
        this.store = store;
    }

    @Override
    public boolean keeps() {
        return true;
    }

    @Override
    public boolean places() {
        return true;
    }

    @Override
    public CompletionStage<Void> write(SessionKey key, Epoch present, Append append, LongConsumer placed) {
        if (!present.equals(epoch)) {
            epoch = present;
            number = 0;
        }
        number++;
        return store.commit(key, present, number, unplaced(append)).handle((appended, failure) -> {
            if (failure == null) {
                placed.accept(appended.listening());
                return null;
            }
            Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
            if (cause instanceof TooLargeException) {
                number--; // the store waits for it
            }
            throw new CompletionException(cause);
        });
    }

    private static Append unplaced(Append append) {
        List<Event> events = append.events();
        for (int i = 0; i < events.size(); i++) {
            if (events.get(i).offset() == KeptEvent.UNPLACED) {
                List<Event> all = new ArrayList<>(events);
                all.replaceAll(event -> event.offset() == KeptEvent.UNPLACED ? event.at(Event.UNPLACED) : event);
                return new Append(all, append.changes(), append.trims());
            }
        }
        return append;
    }
}
