package dev.holdfast.servlet;

import dev.holdfast.engine.SessionEngine;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;

/**
 * An {@link McpEndpoint} as a servlet, on whatever path it is mapped to. Register it with asynchronous support; the engine stays
 * the caller's to start and to close.
 */
public final class McpServlet extends HttpServlet {
    private final transient SessionEngine engine;
    private final transient EdgeOptions options;
    private transient volatile McpEndpoint endpoint;

    /** A servlet for an engine. */
    public McpServlet(SessionEngine engine, EdgeOptions options) {
        this.engine = engine;
        this.options = options;
        this.endpoint = new McpEndpoint(engine, options);
    }

    @Override
    public void init() {
        endpoint.start();
    }

    @Override
    public void destroy() {
        endpoint.stop();
        // a container that stops and starts again calls init() on the same servlet
        endpoint = new McpEndpoint(engine, options);
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        endpoint.handle(request, response);
    }

    /** As {@link McpEndpoint#admits}: stands before another page of the same server. */
    public boolean admits(HttpServletRequest request, HttpServletResponse response) {
        return endpoint.admits(request, response);
    }

    /** As {@link McpEndpoint#visitor}: stands before another page, and tells who asks for it. */
    public Optional<String> visitor(HttpServletRequest request, HttpServletResponse response) {
        return endpoint.visitor(request, response);
    }

    /** As {@link McpEndpoint#renew}. */
    public void renew() {
        endpoint.renew();
    }

    /** How many streams are open. */
    public int openConnections() {
        return endpoint.openConnections();
    }
}
