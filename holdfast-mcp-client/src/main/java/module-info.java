/** The transport for clients written on the official MCP Java SDK. */
// neither the SDK nor Reactor has a module descriptor
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module dev.holdfast.mcp.client {
    requires static transitive org.jspecify;
    requires transitive io.modelcontextprotocol.sdk.mcp.core;
    requires transitive java.net.http;
    requires transitive reactor.core;
    requires dev.holdfast.client;
    requires dev.holdfast.json;
    requires org.reactivestreams;
    requires org.slf4j;

    exports dev.holdfast.mcp.client;
}
