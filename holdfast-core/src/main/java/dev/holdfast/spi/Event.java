package dev.holdfast.spi;

import org.jspecify.annotations.Nullable;

/**
 * One outbound message at its place in a session's log.
 *
 * @param stream the stream it belongs to
 * @param epoch the epoch that appended it
 * @param offset its place in the stream, from 1, without holes when appended; {@link #UNPLACED} where a store
 *     that nodes share is to give it one, and where no store has it
 * @param kind one of {@link EventKind}
 * @param id the id of a response or of a request to the client, else absent
 * @param bytes the message as UTF-8 JSON on one line; shared, never changed
 */
public record Event(
        StreamId stream,
        Epoch epoch,
        long offset,
        byte kind,
        @Nullable RequestId id,
        byte[] bytes) {
    /** The offset of an event that has no place in its stream, or gets it from its store. */
    public static final long UNPLACED = 0;

    /** The same event at another place of its stream. */
    public Event at(long place) {
        return new Event(stream, epoch, place, kind, id, bytes);
    }
}
