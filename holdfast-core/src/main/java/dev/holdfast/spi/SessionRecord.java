package dev.holdfast.spi;

import java.util.List;
import java.util.Map;

/**
 * What a store keeps of a session beside its events.
 *
 * @param version the format of this record, now 1
 * @param kind what sort of record it is; a store keeps kinds it does not know
 * @param principal who opened the session, empty for nobody
 * @param revision the negotiated protocol revision
 * @param journal the messages that bring a fresh backend to the state of the last one, by key, in order
 * @param running the calls that have started and not ended, by stream
 */
public record SessionRecord(
        int version,
        String kind,
        String principal,
        String revision,
        Map<String, byte[]> journal,
        Map<StreamId, List<RequestId>> running) {

    /** The kind of an ordinary session. */
    public static final String SESSION = "session";
}
