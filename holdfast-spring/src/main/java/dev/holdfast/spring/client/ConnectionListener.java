package dev.holdfast.spring.client;

import dev.holdfast.mcp.client.ClientListener;

/** Hears what happens to the connections of the application's MCP clients. Every bean of this type is asked once for each connection. */
@FunctionalInterface
public interface ConnectionListener {
    /**
     * Returns the listener of a connection.
     *
     * @param connection its name in {@code spring.ai.mcp.client.streamable-http.connections}
     */
    ClientListener of(String connection);
}
