package dev.holdfast.spring.client;

import dev.holdfast.mcp.client.HoldfastClientTransport;

/** Changes the transport of a client before it is built. Beans of this type are called in order, after the properties were applied. */
@FunctionalInterface
public interface HoldfastClientCustomizer {
    /**
     * Changes a transport.
     *
     * @param connection the name of its connection in {@code spring.ai.mcp.client.streamable-http.connections}
     */
    void customize(String connection, HoldfastClientTransport.Builder transport);
}
