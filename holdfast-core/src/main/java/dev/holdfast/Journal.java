package dev.holdfast;

import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RecordChange;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The messages that bring a fresh backend to the state of the last one: {@code initialize} first, then what changed the
 * backend's idea of the client, each subject once. Guarded by the session's lock.
 */
final class Journal {
    private final Map<String, InboundMessage> entries = new LinkedHashMap<>(4);
    private Optional<InboundMessage> initialize = Optional.empty();

    /** The backend has accepted this {@code initialize}. */
    void accepted(InboundMessage message) {
        initialize = Optional.of(message.withoutContext());
    }

    InboundMessage initialize() {
        return initialize.orElseThrow();
    }

    /** What has to be replayed after {@code initialize}, in order. */
    List<InboundMessage> replay() {
        return new ArrayList<>(entries.values());
    }

    /** Applies the change of a message that succeeded. */
    void apply(InboundMessage message) {
        if (message.journal() instanceof JournalChange.Put put) {
            entries.put(put.key(), message.withoutContext());
        } else if (message.journal() instanceof JournalChange.Remove remove) {
            entries.remove(remove.key());
        }
    }

    /** The same change for the store. */
    static List<RecordChange> changes(InboundMessage message) {
        if (message.journal() instanceof JournalChange.Put put) {
            return List.of(new RecordChange.JournalPut(put.key(), message.bytes()));
        }
        if (message.journal() instanceof JournalChange.Remove remove) {
            return List.of(new RecordChange.JournalRemoved(remove.key()));
        }
        return List.of();
    }
}
