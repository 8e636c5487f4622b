package dev.holdfast.gateway;

import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.servlet.EdgeOptions;
import java.time.Duration;

/**
 * How much the gateway takes.
 *
 * @param node how much all sessions may hold
 * @param maxCallDuration how long a call may run
 * @param maxRequestSize bytes of a request body
 */
record Limits(NodeLimits node, Duration maxCallDuration, int maxRequestSize) {
    static final Limits DEFAULT =
            new Limits(NodeLimits.DEFAULT, Lifetime.DEFAULT.call(), EdgeOptions.DEFAULT.maxRequestSize());
}
