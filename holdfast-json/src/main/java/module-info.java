/** JSON-RPC messages as bytes. */
module dev.holdfast.json {
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.core;
    requires tools.jackson.core;

    exports dev.holdfast.json;
}
