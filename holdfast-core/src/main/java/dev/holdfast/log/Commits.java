package dev.holdfast.log;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SharedSessionStore;
import dev.holdfast.spi.TooLargeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * The way of one session's batches, one at a time, into a store that nodes share: they are numbered, and the store places events of
 * the listening stream.
 */
final class Commits {
    private final SharedSessionStore store;
    private @Nullable Epoch epoch;
    private long number;

    private Commits(SharedSessionStore store) {
        this.store = store;
    }

    /** The way into a store; empty for one that nodes do not share. */
    static Optional<Commits> into(SessionStore store) {
        return store instanceof SharedSessionStore shared ? Optional.of(new Commits(shared)) : Optional.empty();
    }

    /** Completes when the store has the batch. */
    CompletableFuture<Void> append(SessionKey key, Turn.Batch batch) {
        if (!batch.epoch().equals(epoch)) {
            epoch = batch.epoch();
            number = 0;
        }
        number++;
        return store.commit(key, batch.epoch(), number, unplaced(batch.append()))
                .<Void>handle((appended, failure) -> {
                    if (failure == null) {
                        batch.placed(appended.listening());
                        return null;
                    }
                    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
                    if (cause instanceof TooLargeException) {
                        number--; // the store waits for it
                    }
                    throw new CompletionException(cause);
                })
                .toCompletableFuture();
    }

    private static Append unplaced(Append append) {
        List<Event> events = append.events();
        for (int i = 0; i < events.size(); i++) {
            if (events.get(i).offset() == KeptEvent.UNPLACED) {
                List<Event> all = new ArrayList<>(events);
                all.replaceAll(
                        event -> event.offset() == KeptEvent.UNPLACED ? event.at(SharedSessionStore.UNPLACED) : event);
                return new Append(all, append.changes(), append.trims());
            }
        }
        return append;
    }
}
