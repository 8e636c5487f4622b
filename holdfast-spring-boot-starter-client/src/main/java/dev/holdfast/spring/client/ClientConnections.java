package dev.holdfast.spring.client;

import dev.holdfast.mcp.client.ClientListener;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** The connections of an application's MCP clients, by their names. Immutable; what it holds changes. */
public final class ClientConnections implements ConnectionListener {
    private final Map<String, ClientConnection> connections = new LinkedHashMap<>();

    /** Connections that nothing has happened to yet. */
    public ClientConnections(Collection<String> names) {
        names.stream().sorted().forEach(name -> connections.put(name, new ClientConnection()));
    }

    @Override
    public ClientListener of(String connection) {
        ClientConnection known = connections.get(connection);
        return known == null ? ClientListener.NONE : known;
    }

    /** All of them, by name. */
    public Map<String, ClientConnection> all() {
        return Collections.unmodifiableMap(connections);
    }
}
