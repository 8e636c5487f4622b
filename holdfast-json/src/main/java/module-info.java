/** JSON-RPC messages as bytes. */
@SuppressWarnings("module") // the modules that the internal package is open to are compiled later
module dev.holdfast.json {
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.core;
    requires tools.jackson.core;

    exports dev.holdfast.json;
    exports dev.holdfast.json.backend to
            dev.holdfast.gateway,
            dev.holdfast.mcp,
            dev.holdfast.mcp.client,
            dev.holdfast.upstream;
}
