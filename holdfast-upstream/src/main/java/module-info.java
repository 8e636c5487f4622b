/** An MCP server behind a URL, as a backend of sessions. */
module dev.holdfast.upstream {
    requires static transitive jakarta.servlet;
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.core;
    requires transitive java.net.http;
    requires dev.holdfast.client;
    requires dev.holdfast.json;
    requires org.slf4j;

    // for UpstreamHttp.jetty() only: whoever calls it requires the first of these
    requires static org.eclipse.jetty.client;
    requires static org.eclipse.jetty.http;
    requires static org.eclipse.jetty.io;
    requires static org.eclipse.jetty.util;

    exports dev.holdfast.upstream;
}
