package dev.holdfast.session;

import dev.holdfast.SessionLimits;
import dev.holdfast.log.Step;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RecordChange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The messages that bring a fresh backend to the state of the last one: {@code initialize} first, then what changed the
 * backend's idea of the client, each subject once.
 */
public final class Journal {
    /** The longest {@code initialize} that is taken: it is kept for the session's life. */
    public static final int MOST_INITIALIZE_BYTES = 1 << 16;

    private final SessionLimits limits;
    private final OpenRequests coming;
    private final ObjLongConsumer<Step> weight;
    private @Nullable InboundMessage initialize;
    /** Most sessions have one entry for ever. */
    private Map<String, InboundMessage> entries = Map.of();

    private long bytes;

    /**
     * @param coming the requests in flight, by which it grows when the backend accepts them
     * @param weight learns by how many bytes it grows or shrinks
     */
    Journal(SessionLimits limits, OpenRequests coming, ObjLongConsumer<Step> weight) {
        this.limits = limits;
        this.coming = coming;
        this.weight = weight;
    }

    /** The backend has accepted this {@code initialize}. */
    void accepted(InboundMessage message, Step step) {
        initialize = message.withoutContext();
        grows(message.bytes().length, step);
    }

    /** The {@code initialize} of its client, once a backend has accepted that. */
    Optional<InboundMessage> initialized() {
        return Optional.ofNullable(initialize);
    }

    InboundMessage initialize() {
        return Objects.requireNonNull(initialize, "no initialize was accepted");
    }

    /** What has to be replayed after {@code initialize}, in order. */
    List<InboundMessage> replay() {
        return new ArrayList<>(entries.values());
    }

    /**
     * Becomes this, {@code initialize} apart, which stays.
     *
     * @param wanted messages by their keys, in order
     * @return those that it did not have
     */
    List<InboundMessage> become(Map<String, InboundMessage> wanted, Step step) {
        List<InboundMessage> missing = new ArrayList<>();
        wanted.forEach((key, message) -> {
            InboundMessage had = entries.get(key);
            if (had == null || !Arrays.equals(had.bytes(), message.bytes())) {
                missing.add(message);
            }
        });
        List<String> removed = entries.keySet().stream()
                .filter(key -> !wanted.containsKey(key))
                .toList();
        removed.forEach(key -> remove(key, step));
        missing.forEach(message -> apply(message, step));
        return missing;
    }

    /** Whether what these messages would add is within the session's limits, of events and of bytes, with all that is in flight. */
    boolean hasRoom(List<InboundMessage> messages) {
        long more = moreBytes(messages);
        if (more == 0) {
            return true;
        }
        List<InboundMessage> before =
                coming.all().stream().map(LiveCall.Request::message).toList();
        return entries.size() + moreEntries(before) + moreEntries(messages) <= limits.sessionEvents()
                && bytes + moreBytes(before) + more <= limits.sessionBytes();
    }

    private int moreEntries(List<InboundMessage> messages) {
        int more = 0;
        for (InboundMessage message : messages) {
            more += message.journal() instanceof JournalChange.Put put && !entries.containsKey(put.key()) ? 1 : 0;
        }
        return more;
    }

    /** By how many bytes these may let it grow; that one of them takes less than what it replaces leaves no room for others. */
    private long moreBytes(List<InboundMessage> messages) {
        long more = 0;
        for (InboundMessage message : messages) {
            if (message.journal() instanceof JournalChange.Put put) {
                more += Math.max(0, size(put.key(), message) - size(put.key(), entries.get(put.key())));
            }
        }
        return more;
    }

    void apply(InboundMessage message, Step step) {
        if (message.journal() instanceof JournalChange.Put put) {
            put(put.key(), message.withoutContext(), step);
        } else if (message.journal() instanceof JournalChange.Remove remove) {
            remove(remove.key(), step);
        }
    }

    private void put(String key, InboundMessage message, Step step) {
        grows(size(key, message) - size(key, entries.get(key)), step);
        if (entries.isEmpty()) {
            entries = Map.of(key, message);
            return;
        }
        many().put(key, message);
    }

    private void remove(String key, Step step) {
        if (entries.containsKey(key)) {
            grows(-size(key, many().remove(key)), step);
        }
    }

    private Map<String, InboundMessage> many() {
        if (!(entries instanceof LinkedHashMap)) {
            entries = new LinkedHashMap<>(entries);
        }
        return entries;
    }

    private void grows(long more, Step step) {
        bytes += more;
        weight.accept(step, more);
    }

    /** What a message weighs, here and on its way. */
    static long size(InboundMessage message) {
        return message.journal() instanceof JournalChange.Put put ? size(put.key(), message) : message.bytes().length;
    }

    private static long size(String key, @Nullable InboundMessage message) {
        return message == null ? 0 : key.length() + message.bytes().length;
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
