/**
 * The edge: Streamable HTTP and HTTP+SSE for MCP on Jakarta Servlet.
 *
 * <p>The packages below {@code dev.holdfast.servlet} are internal.
 */
@SuppressWarnings("module") // those for whom the console is are built later
module dev.holdfast.servlet {
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.core;
    requires transitive jakarta.servlet;
    requires dev.holdfast.json;
    requires dev.holdfast.modern;
    requires org.slf4j;

    exports dev.holdfast.servlet;
    exports dev.holdfast.servlet.console to
            dev.holdfast.gateway,
            dev.holdfast.spring;
}
