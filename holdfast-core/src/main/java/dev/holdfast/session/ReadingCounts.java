package dev.holdfast.session;

import dev.holdfast.CallWatch.Attachment;
import dev.holdfast.WriteStall;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;

/** What happened to the connections that read streams. Safe for use by any thread. */
public final class ReadingCounts {
    private final LongAdder listened = new LongAdder();
    private final LongAdder resumed = new LongAdder();
    private final LongAdder superseded = new LongAdder();
    private final LongAdder replayed = new LongAdder();
    private final Map<WriteStall, LongAdder> stalls = new EnumMap<>(WriteStall.class);

    ReadingCounts() {
        for (WriteStall kind : WriteStall.values()) {
            stalls.put(kind, new LongAdder());
        }
    }

    /**
     * A client came to read a stream.
     *
     * @param messages how many were kept for it
     */
    void attached(Attachment how, long messages) {
        (how == Attachment.LISTENED ? listened : resumed).increment();
        replayed.add(messages);
    }

    /** A newer connection took a stream over. */
    void supersede() {
        superseded.increment();
    }

    /** The peer of a connection takes no bytes. */
    public void stalled(WriteStall kind) {
        Objects.requireNonNull(stalls.get(kind)).increment();
    }

    long listened() {
        return listened.sum();
    }

    long resumed() {
        return resumed.sum();
    }

    long superseded() {
        return superseded.sum();
    }

    long replayed() {
        return replayed.sum();
    }

    Map<WriteStall, Long> stalls() {
        Map<WriteStall, Long> counts = new EnumMap<>(WriteStall.class);
        stalls.forEach((kind, count) -> counts.put(kind, count.sum()));
        return counts;
    }
}
