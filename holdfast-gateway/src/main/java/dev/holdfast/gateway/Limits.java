package dev.holdfast.gateway;

import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.servlet.EdgeOptions;
import java.time.Duration;

/**
 * How much the gateway takes.
 *
 * @param node how much all sessions may hold
 * @param maxChildren how many child processes there may be at once
 * @param maxCallDuration how long a call may run
 * @param maxRequestSize bytes of a request body
 */
record Limits(NodeLimits node, int maxChildren, Duration maxCallDuration, int maxRequestSize) {
    static final Limits DEFAULT = new Limits(
            NodeLimits.DEFAULT,
            MachineMemory.children(),
            Lifetime.DEFAULT.call(),
            EdgeOptions.DEFAULT.maxRequestSize());
}
