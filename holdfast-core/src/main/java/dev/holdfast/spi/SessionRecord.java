package dev.holdfast.spi;

import java.util.List;
import java.util.Map;

/**
 * What a store keeps of a session beside its events.
 *
 * @param version the format of this record, now 1
 * @param kind what sort of record it is; a store keeps kinds it does not know
 * @param principal who opened the session, empty for nobody
 * @param expiresAt when the session is not there any more, in milliseconds since 1970
 * @param extension what the engine keeps beside, opaque to the store; shared, never changed
 * @param revision the negotiated protocol revision, empty before {@code initialize} is answered
 * @param journal the messages that bring a fresh backend to the state of the last one, by key, in order
 * @param running the calls that have started and not ended, by stream
 */
public record SessionRecord(
        int version,
        String kind,
        String principal,
        long expiresAt,
        byte[] extension,
        String revision,
        Map<String, byte[]> journal,
        Map<StreamId, RunningCall> running) {

    /** The key of {@code initialize} in the journal. */
    public static final String INITIALIZE = "initialize";

    /** The kind of a session whose calls have streams of their own. */
    public static final String SESSION = "session";

    /** The kind of a session whose answers all go to the listening stream. */
    public static final String LISTENING_SESSION = "listening session";

    /** The kind of a session that no client knows: the calls of requests that name no session run in it. */
    public static final String CARRIER = "carrier";

    /** No extension. */
    public static final byte[] NO_EXTENSION = {};

    /**
     * A call that has started and not ended.
     *
     * @param requests the ids of those of its requests that have no answer yet
     * @param extension what the engine keeps beside, opaque to the store; shared, never changed
     */
    public record RunningCall(List<RequestId> requests, byte[] extension) {}
}
