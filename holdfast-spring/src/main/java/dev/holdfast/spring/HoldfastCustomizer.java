package dev.holdfast.spring;

import dev.holdfast.mcp.HoldfastTransportProviderBuilder;

/**
 * Changes the transport before it is built. Beans of this type are called in their order, after all properties were applied: what
 * they set wins. What has no property of its own, such as a check of headers, is set here.
 */
@FunctionalInterface
public interface HoldfastCustomizer {
    /** Sets knobs of the transport that is about to be built. */
    void customize(HoldfastTransportProviderBuilder transport);
}
