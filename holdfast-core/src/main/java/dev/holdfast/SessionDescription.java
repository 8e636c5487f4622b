package dev.holdfast;

import java.time.Duration;

/**
 * A session as it was at one moment, for those who watch a server. It holds no credential.
 *
 * @param shortId the first eight characters of the session's id
 * @param state where it is in its life
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
        String revision,
        String principal,
        Duration age,
        int streams,
        int runningCalls,
        long keptBytes,
        long keptMessages) {}
