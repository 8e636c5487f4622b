/** The transport for servers written on the official MCP Java SDK. */
// neither the SDK nor Reactor has a module descriptor
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module dev.holdfast.mcp {
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.core;
    requires transitive dev.holdfast.servlet;
    requires transitive io.modelcontextprotocol.sdk.mcp.core;
    requires transitive reactor.core;
    requires dev.holdfast.json;
    requires org.slf4j;

    exports dev.holdfast.mcp;
}
