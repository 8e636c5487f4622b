/** The command line and HTTP server. An application: it exports nothing. */
@SuppressWarnings("requires-automatic") // neither the SDK nor Reactor nor Micrometer has a module descriptor
module dev.holdfast.gateway {
    requires static org.jspecify;
    requires ch.qos.logback.classic;
    requires ch.qos.logback.core;
    requires com.fasterxml.jackson.annotation;
    requires com.nimbusds.jose.jwt;
    requires dev.holdfast.client;
    requires dev.holdfast.core;
    requires dev.holdfast.json;
    requires dev.holdfast.mcp;
    requires dev.holdfast.micrometer;
    requires dev.holdfast.redis;
    requires dev.holdfast.rocksdb;
    requires dev.holdfast.servlet;
    requires dev.holdfast.upstream;
    requires io.modelcontextprotocol.sdk.mcp.core;
    requires jakarta.servlet;
    requires java.management;
    requires java.net.http;
    requires jdk.management;
    requires micrometer.core;
    requires micrometer.registry.prometheus;
    requires org.eclipse.jetty.alpn.server;
    requires org.eclipse.jetty.client;
    requires org.eclipse.jetty.ee11.servlet;
    requires org.eclipse.jetty.http;
    requires org.eclipse.jetty.http2.common;
    requires org.eclipse.jetty.http2.server;
    requires org.eclipse.jetty.io;
    requires org.eclipse.jetty.server;
    requires org.eclipse.jetty.util;
    requires org.reactivestreams;
    requires org.slf4j;
    requires reactor.core;
    requires tools.jackson.core;

    // logback makes the appender that logback.xml names
    opens dev.holdfast.gateway to
            ch.qos.logback.core;
    // Jackson writes the form of the demo
    opens dev.holdfast.gateway.demo;
}
