package dev.holdfast.spi;

import org.jspecify.annotations.Nullable;

/**
 * One outbound message at its place in a session's log.
 *
 * @param stream the stream it belongs to
 * @param epoch the epoch that appended it
 * @param offset its place in the stream, from 1, without holes when appended
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
        byte[] bytes) {}
