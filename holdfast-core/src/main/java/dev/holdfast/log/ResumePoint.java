package dev.holdfast.log;

import dev.holdfast.EventId;

/**
 * Where a client comes back that names the last event it has.
 *
 * @param after what it names
 * @param ours whether the session had the epoch of that event: else the client has nothing of this stream
 * @param doubtful whether something may have been lost after an event of that epoch, without a trace
 */
public record ResumePoint(EventId after, boolean ours, boolean doubtful) {
    /** The last offset that the client can have of a stream that is committed up to here. */
    public long most(long committed) {
        return ours ? Math.min(after.offset(), committed) : 0;
    }

    /**
     * Whether the client has missed something.
     *
     * @param cursor where it goes on: before the first kept event that it does not have
     * @param dropped the highest offset that was ever dropped
     * @param last the last offset of the stream
     */
    public boolean missed(long cursor, long dropped, long last) {
        return !ours || doubtful || cursor < after.offset() || cursor < dropped || cursor > last;
    }
}
