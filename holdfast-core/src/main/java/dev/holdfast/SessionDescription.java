package dev.holdfast;

import dev.holdfast.spi.MessageFactory;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A session as it was at one moment, for those who watch a server. It holds no credential.
 *
 * @param shortId the first eight characters of the session's id
 * @param state where it is in its life
 * @param kind what sort of session it is, as {@link Session#kind} has it
 * @param client what its client says of itself, in its own words; unknown before {@code initialize} is answered
 * @param revision the negotiated protocol revision; empty before {@code initialize} is answered
 * @param principal whose session it is; empty for nobody in particular
 * @param age how long it has been in memory: since it was opened, or came back from the store
 * @param streams connections that read one of its streams
 * @param runningCalls requests without an answer in the log, and those on their way to the node that has the backend; those of a batch
 *     count one by one
 * @param keptBytes bytes that it keeps: messages for its client, and what its journal and those who wait for its backend need
 * @param keptMessages messages that it keeps for its client
 */
public record SessionDescription(
        String shortId,
        SessionState state,
        String kind,
        MessageFactory.Client client,
        String revision,
        String principal,
        Duration age,
        int streams,
        int runningCalls,
        long keptBytes,
        long keptMessages) {
    /**
     * A session with its streams, as they were at one moment.
     *
     * @param streams the listening stream, then those of calls, in no order
     */
    public record InDetail(SessionDescription session, List<OfStream> streams) {}

    /**
     * One of its streams, as far as this node has it. Offsets count from 1.
     *
     * @param name the counter of the epoch that created it and its number there, in decimal with a dot between; {@code 0.0} is the
     *     listening stream
     * @param first the offset of the first event that is kept; one more than {@code last} where none is
     * @param last the offset of its last committed event; 0 where there was none
     * @param waiting events that are on their way to the store
     * @param dropped the highest offset that was dropped, 0 for none: a cursor below it misses something
     * @param confirmed up to here its client has surely everything
     * @param events kept events
     * @param bytes bytes that they take
     * @param cursors how far each connection is that reads it
     * @param end why nothing follows; empty while something may
     */
    public record OfStream(
            String name,
            long first,
            long last,
            long waiting,
            long dropped,
            long confirmed,
            int events,
            long bytes,
            List<Long> cursors,
            Optional<EndReason> end) {}

    /**
     * A session that has left memory and waits in the store, as the engine that has parked it knows it.
     *
     * @param shortId the first eight characters of its id
     * @param principal whose session it is; empty for nobody in particular
     * @param since how long ago it left memory
     * @param bytes how much the store keeps of it
     */
    public record Parked(String shortId, String principal, Duration since, long bytes) {}
}
