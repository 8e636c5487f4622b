package dev.holdfast.gateway;

import dev.holdfast.NodeLimits;
import dev.holdfast.servlet.EdgeOptions;

/**
 * How much the gateway takes.
 *
 * @param node how much all sessions may hold
 * @param maxRequestSize bytes of a request body
 */
record Limits(NodeLimits node, int maxRequestSize) {
    static final Limits DEFAULT = new Limits(NodeLimits.DEFAULT, EdgeOptions.DEFAULT.maxRequestSize());
}
