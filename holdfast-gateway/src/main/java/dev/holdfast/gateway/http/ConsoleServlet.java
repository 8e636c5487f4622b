package dev.holdfast.gateway.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.Termination;
import dev.holdfast.servlet.console.Console;
import dev.holdfast.servlet.console.ConsolePage;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The console: a page for everybody, which holds no data, and what it asks for, for those whom the gateway serves. Only this page may ask:
 * its requests have a header that a page of another origin cannot send without a permission, and come from its own origin.
 */
public final class ConsoleServlet extends HttpServlet {
    /** Where the page is. */
    public static final String PAGE = "/console";

    private static final String DATA = PAGE + "/data";
    private static final String SESSION = PAGE + "/session";

    /** All paths of it. */
    public static final List<String> PATHS = List.of(PAGE, DATA, SESSION);

    private static final int NO_CONTENT = 204;
    private static final int ACCEPTED = 202;
    private static final int FORBIDDEN = 403;
    private static final int NOT_FOUND = 404;
    private static final int NOT_ALLOWED = 405;
    private static final int CONFLICT = 409;
    private static final int UNAVAILABLE = 503;
    /** How long a page waits for the store. */
    private static final long STORE_SECONDS = 5;

    private final transient Console console;
    private final transient StatusPages.Guard guard;
    private final transient Function<String, Console.Viewer> viewers;

    /**
     * A console.
     *
     * @param guard says who asks
     * @param viewers what a principal sees
     */
    public ConsoleServlet(Console console, StatusPages.Guard guard, Function<String, Console.Viewer> viewers) {
        this.console = console;
        this.guard = guard;
        this.viewers = viewers;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.setHeader("Cache-Control", "no-store");
        response.setHeader("X-Content-Type-Options", "nosniff");
        response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
        String path = request.getServletPath();
        boolean reads = List.of("GET", "HEAD").contains(request.getMethod());
        if (path.startsWith(SESSION) ? !request.getMethod().equals("DELETE") : !reads) {
            response.setHeader("Allow", path.startsWith(SESSION) ? "DELETE" : "GET, HEAD");
            response.sendError(NOT_ALLOWED);
        } else if (!path.startsWith(DATA) && !path.startsWith(SESSION)) {
            response.setHeader("Content-Security-Policy", ConsolePage.POLICY);
            response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
            response.setHeader("Referrer-Policy", "no-referrer");
            response.setHeader("X-Frame-Options", "DENY");
            write(response, "text/html;charset=utf-8", ConsolePage.HTML);
        } else if (!ConsolePage.asks(request)) {
            response.sendError(FORBIDDEN);
        } else {
            Optional<Console.Viewer> viewer = guard.visitor(request, response).map(viewers);
            if (viewer.isPresent() && path.startsWith(DATA)) {
                Optional<String> data = console.data(viewer.get(), parameters(request));
                if (data.isPresent()) {
                    write(response, "application/json;charset=utf-8", data.get());
                } else {
                    response.sendError(UNAVAILABLE);
                }
            } else if (viewer.isPresent()) {
                response.setStatus(end(viewer.get(), parameters(request)));
            }
        }
    }

    private static Map<String, String> parameters(HttpServletRequest request) {
        return request.getParameterMap().entrySet().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, values -> values.getValue()[0]));
    }

    private int end(Console.Viewer viewer, Map<String, String> asked) {
        return console.end(viewer, asked.getOrDefault("server", ""), asked.getOrDefault("session", ""))
                .thenApply(ConsoleServlet::status)
                .exceptionally(failure -> ACCEPTED)
                .toCompletableFuture()
                .completeOnTimeout(ACCEPTED, STORE_SECONDS, TimeUnit.SECONDS)
                .join();
    }

    private static int status(Termination termination) {
        return switch (termination) {
            case ENDED -> NO_CONTENT;
            case UNKNOWN -> NOT_FOUND;
            case AMBIGUOUS -> CONFLICT;
        };
    }

    private static void write(HttpServletResponse response, String type, String text) throws IOException {
        byte[] body = text.getBytes(UTF_8);
        response.setContentType(type);
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }
}
