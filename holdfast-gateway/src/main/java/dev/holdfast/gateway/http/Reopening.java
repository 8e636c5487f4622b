package dev.holdfast.gateway.http;

import dev.holdfast.engine.SessionEngine;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stands before a server that drains and is opened anew. What only that one can answer goes to it; what it would refuse waits, on no
 * thread and with nothing of it read, for the next one.
 */
public final class Reopening extends HttpServlet {
    private static final Logger log = LoggerFactory.getLogger(Reopening.class);

    /** The requests of clients without sessions that a server may answer by questions. */
    private static final Set<String> ANSWERS = Set.of("tools/call", "prompts/get", "resources/read");

    private static final int MOST = 1_000;
    /** Longer than a drain takes by default; many clients wait for an answer to their initialize no longer than that. */
    private static final long SECONDS = 30;

    private final transient HttpServlet before;
    private final transient SessionEngine engine;
    private final transient CompletableFuture<Void> over =
            new CompletableFuture<Void>().completeOnTimeout(null, SECONDS, TimeUnit.SECONDS);
    private final transient AtomicInteger held = new AtomicInteger();
    private final transient Queue<AsyncContext> waiting = new ConcurrentLinkedQueue<>();

    /** Before an endpoint of an engine that drains soon. */
    public Reopening(HttpServlet before, SessionEngine engine) {
        this.before = before;
        this.engine = engine;
        CompletableFuture<Void> unused = over.thenRun(this::goOn);
    }

    /** They are dispatched in the order in which they came. */
    private void goOn() {
        for (AsyncContext next = waiting.poll(); next != null; next = waiting.poll()) {
            try {
                next.dispatch();
            } catch (IllegalStateException e) {
                log.debug("a client has left that waited for a server to be opened anew: {}", e.toString());
            }
        }
    }

    /** Has those that wait go to what is served at their paths now; none waits any more. */
    public void end() {
        over.complete(null);
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        if (over.isDone() || !engine.draining() || isForBefore(request) || held.incrementAndGet() > MOST) {
            before.service(request, response);
        } else {
            AsyncContext asked = request.startAsync(request, response);
            asked.setTimeout(0);
            waiting.add(asked);
            if (over.isDone()) {
                goOn();
            }
        }
    }

    /**
     * Whether it is about what goes on in the server before: what is sent in a session while calls run may be an answer that one of them
     * waits for, and what is read there may be one that has not arrived. A request without a session may bring such answers too.
     */
    private boolean isForBefore(HttpServletRequest request) {
        String query = request.getQueryString();
        boolean inSession =
                request.getHeader("Mcp-Session-Id") != null || (query != null && query.contains("sessionId="));
        String method = Optional.ofNullable(request.getHeader("Mcp-Method")).orElse("");
        return switch (request.getMethod()) {
            case "POST" ->
                method.startsWith("tasks/")
                        || ((inSession || ANSWERS.contains(method))
                                && engine.stats().runningCalls() > 0);
            case "GET" -> inSession && engine.size() > 0;
            default -> true;
        };
    }
}
