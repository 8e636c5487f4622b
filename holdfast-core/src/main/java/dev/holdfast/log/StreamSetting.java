package dev.holdfast.log;

import dev.holdfast.SessionLimits;
import dev.holdfast.spi.MessageFactory;

/**
 * What the streams of all sessions need of the node they live on.
 *
 * @param limits how much a session may hold
 * @param messages how the few messages of the engine's own are written
 * @param clock what deadlines follow
 * @param total counts what all sessions keep
 */
public record StreamSetting(SessionLimits limits, MessageFactory messages, EngineClock clock, NodeTotal total) {
    /** Counts what all sessions of a node keep. Safe for use by any thread, under a session's lock too. */
    public interface NodeTotal {
        /** A session keeps so many more bytes and events, or fewer. Returns whether all of them together now keep too much. */
        boolean add(long moreBytes, long moreEvents);

        /** An event was dropped because a limit asked for it. */
        void dropped();
    }
}
