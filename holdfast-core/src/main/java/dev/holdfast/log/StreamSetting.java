package dev.holdfast.log;

import dev.holdfast.SessionLimits;
import dev.holdfast.spi.MessageFactory;

/**
 * What the streams of all sessions need of the node they live on.
 *
 * @param limits how much a session may hold
 * @param messages how the few messages of the engine's own are written
 * @param clock what deadlines follow
 * @param whole counts what all sessions keep
 */
public record StreamSetting(SessionLimits limits, MessageFactory messages, EngineClock clock, SharedMemory whole) {}
