package dev.holdfast.spi;

import java.util.List;

/** One change to a session's record. A store applies the changes of an append together with its events. */
public sealed interface RecordChange {
    /**
     * A call starts, or goes on: then this takes the place of what was kept of it.
     *
     * @param stream its stream, which exists from here on; no more than its name where its answers go to the listening stream
     * @param requests the ids of its requests, but for those that have their answer
     * @param extension what the engine keeps beside, opaque to the store
     */
    record CallStarted(StreamId stream, List<RequestId> requests, byte[] extension) implements RecordChange {
        /** Nothing is kept beside. */
        public CallStarted(StreamId stream, List<RequestId> requests) {
            this(stream, requests, SessionRecord.NO_EXTENSION);
        }
    }

    /** A call has ended; no error for one that is not known. */
    record CallEnded(StreamId stream) implements RecordChange {}

    /** The backend has accepted {@code initialize}. */
    record Negotiated(String revision, byte[] initialize) implements RecordChange {}

    /** The journal gets this message, in the place of an earlier one under the same key. */
    record JournalPut(String key, byte[] message) implements RecordChange {}

    /** The journal loses the message under this key. */
    record JournalRemoved(String key) implements RecordChange {}

    /** The session is not there any more from this moment on, in milliseconds since 1970, unless it changes again. */
    record Expires(long at) implements RecordChange {}

    /** The record gets another extension. */
    record Extended(byte[] extension) implements RecordChange {}
}
