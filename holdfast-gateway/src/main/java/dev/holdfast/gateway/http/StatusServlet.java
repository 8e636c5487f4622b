package dev.holdfast.gateway.http;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * A page for who watches the gateway. OPTIONS is answered with the status that a GET would have, without a body: HAProxy's
 * {@code httpchk} asks by it unless it is told otherwise. A guard lets it pass without a token, so that it must cost little.
 */
final class StatusServlet extends HttpServlet {
    private static final String METHODS = "GET, HEAD, OPTIONS";

    private final transient Guard guard;
    private final transient Supplier<Page> status;
    private final transient IntSupplier code;

    /**
     * A page.
     *
     * @param guard who may see it
     * @param status what it tells now
     * @param code the HTTP status of that
     */
    StatusServlet(Guard guard, Supplier<Page> status, IntSupplier code) {
        this.guard = guard;
        this.status = status;
        this.code = code;
    }

    /** Only what is below: the methods of a servlet by default tell of it, and of the request. */
    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        if (!guard.admits(request, response)) {
            return;
        }
        switch (request.getMethod()) {
            case "GET", "HEAD" -> doGet(request, response);
            case "OPTIONS" -> doOptions(request, response);
            default -> {
                response.setHeader("Allow", METHODS);
                response.sendError(HttpServletResponse.SC_METHOD_NOT_ALLOWED);
            }
        }
    }

    @Override
    protected void doOptions(HttpServletRequest request, HttpServletResponse response) {
        response.setStatus(code.getAsInt());
        response.setHeader("Allow", METHODS);
        response.setHeader("Cache-Control", "no-store");
        response.setContentLength(0);
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        Page now = status.get();
        byte[] body = now.text().getBytes(StandardCharsets.UTF_8);
        response.setStatus(now.code());
        response.setContentType(now.type());
        response.setHeader("Cache-Control", "no-store");
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }
}
