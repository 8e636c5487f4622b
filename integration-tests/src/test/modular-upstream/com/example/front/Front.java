package com.example.front;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.McpServlet;
import dev.holdfast.upstream.ForwardedHeaders;
import dev.holdfast.upstream.UpstreamBackend;
import java.net.InetSocketAddress;
import java.net.URI;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

/** Serves the MCP server at the URL of its first argument, on the port of its second, until its standard input ends. */
public class Front {
    private Front() {}

    public static void main(String[] args) throws Exception {
        ForwardedHeaders headers = ForwardedHeaders.named("Authorization");
        try (UpstreamBackend backend =
                        UpstreamBackend.builder(URI.create(args[0])).forward(headers).open();
                SessionEngine engine =
                        SessionEngine.builder(backend, JsonRpc.MESSAGES).build().start()) {
            EdgeOptions edge = EdgeOptions.builder().context(headers).build();
            Server web = serving(new McpServlet(engine, edge), Integer.parseInt(args[1]));
            System.out.println("serving " + web.getURI());
            while (System.in.read() >= 0) {
                continue;
            }
            web.stop();
        }
    }

    private static Server serving(McpServlet servlet, int port) throws Exception {
        ServletHolder holder = new ServletHolder(servlet);
        holder.setAsyncSupported(true);
        ServletContextHandler context = new ServletContextHandler();
        context.addServlet(holder, "/mcp");
        context.addServlet(holder, "/mcp/");
        Server web = new Server(new InetSocketAddress("127.0.0.1", port));
        web.setHandler(context);
        web.start();
        return web;
    }
}
