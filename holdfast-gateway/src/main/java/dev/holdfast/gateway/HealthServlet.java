package dev.holdfast.gateway;

import dev.holdfast.SessionEngine;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Tells who watches the gateway how it is: 200, or 503 once it drains and wants no new clients. */
final class HealthServlet extends HttpServlet {
    private final transient SessionEngine engine;

    HealthServlet(SessionEngine engine) {
        this.engine = engine;
    }

    /** Only what is below: the methods of a servlet by default tell of it, and of the request. */
    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        switch (request.getMethod()) {
            case "GET", "HEAD" -> doGet(request, response);
            default -> {
                response.setHeader("Allow", "GET, HEAD");
                response.sendError(HttpServletResponse.SC_METHOD_NOT_ALLOWED);
            }
        }
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        boolean draining = engine.draining();
        String status = draining ? "draining" : "ok";
        byte[] body = ("{\"status\":\"" + status + "\",\"sessions\":" + engine.size() + "}\n")
                .getBytes(StandardCharsets.UTF_8);
        response.setStatus(draining ? HttpServletResponse.SC_SERVICE_UNAVAILABLE : HttpServletResponse.SC_OK);
        response.setContentType("application/json");
        response.setHeader("Cache-Control", "no-store");
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }
}
