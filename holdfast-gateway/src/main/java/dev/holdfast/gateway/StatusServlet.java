package dev.holdfast.gateway;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;

/** A page for who watches the gateway. */
final class StatusServlet extends HttpServlet {
    private final transient Guard guard;
    private final transient Supplier<Status> status;

    /**
     * A page.
     *
     * @param guard who may see it
     * @param status what it tells now
     */
    StatusServlet(Guard guard, Supplier<Status> status) {
        this.guard = guard;
        this.status = status;
    }

    /** Only what is below: the methods of a servlet by default tell of it, and of the request. */
    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        if (!guard.admits(request, response)) {
            return;
        }
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
        Status now = status.get();
        byte[] body = (now.json() + "\n").getBytes(StandardCharsets.UTF_8);
        response.setStatus(now.code());
        response.setContentType("application/json");
        response.setHeader("Cache-Control", "no-store");
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }
}
