package dev.holdfast.spi;

import java.util.List;

/**
 * What one append does, all of it or nothing.
 *
 * @param events new events, in order; the offsets of a stream go on where its last one ended
 * @param changes changes of the record, in order
 * @param trims events of earlier appends that are no longer needed; one that is already gone is no error
 */
public record Append(List<Event> events, List<RecordChange> changes, List<Trim> trims) {
    /**
     * One event to forget.
     *
     * @param stream its stream
     * @param offset its place there
     */
    public record Trim(StreamId stream, long offset) {}
}
