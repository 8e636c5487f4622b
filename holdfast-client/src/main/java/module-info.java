/** A client of MCP servers over HTTP that comes back. Internal: its packages are open to Holdfast's other modules only. */
@SuppressWarnings("module")
module dev.holdfast.client {
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.json;
    requires transitive java.net.http;
    requires org.slf4j;

    exports dev.holdfast.client to
            dev.holdfast.gateway,
            dev.holdfast.mcp.client,
            dev.holdfast.upstream;
    exports dev.holdfast.client.held to
            dev.holdfast.gateway,
            dev.holdfast.mcp.client;
    exports dev.holdfast.client.wire to
            dev.holdfast.gateway,
            dev.holdfast.upstream;
}
