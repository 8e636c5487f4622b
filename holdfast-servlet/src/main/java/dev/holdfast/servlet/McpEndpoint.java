package dev.holdfast.servlet;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.http.BodyReader;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.io.EdgeClock;
import dev.holdfast.servlet.sse.SseConnections;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.Objects;
import java.util.Optional;

/**
 * Serves a {@link SessionEngine} over Streamable HTTP: POST, GET and DELETE on one path; and, where {@link
 * EdgeOptions#httpSse} says so, over HTTP+SSE on two more. It serves the legacy revisions, those
 * with an {@code initialize} handshake; a client of a later one is told so in a way that makes it fall back.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http">MCP transports,
 *     Streamable HTTP</a>
 */
public final class McpEndpoint {
    private final SessionEngine engine;
    private final AccessCheck access;
    private final EdgeClock clock;
    private final BodyReader bodies;
    private final SseConnections connections;
    private final StreamableHttp streamableHttp;
    private final Optional<HttpSse> httpSse;
    private final Optional<Quota> perPrincipal;

    /** An endpoint for an engine that the caller starts and closes. */
    public McpEndpoint(SessionEngine engine, EdgeOptions options) {
        this.engine = Objects.requireNonNull(engine, "engine");
        Objects.requireNonNull(options, "options");
        this.access = new AccessCheck(options);
        this.clock = new EdgeClock(engine.clock(), engine.scheduler());
        this.bodies = new BodyReader(
                options.maxRequestSize(),
                options.requestDeadline(),
                engine.quota(options.maxRequestBytes(), Refusal.BODY_ROOM),
                engine::requestMemory,
                clock);
        this.connections = new SseConnections(
                clock,
                options.heartbeatInterval(),
                options.retryInterval(),
                options.maxConnectionAge(),
                options.stallDeadline(),
                engine::stalled);
        this.streamableHttp = new StreamableHttp(engine, options, connections);
        this.httpSse = options.httpSse().map(sse -> new HttpSse(engine, options, sse, connections, clock));
        this.perPrincipal = options.connections();
    }

    /** Starts the heartbeats. Call it once, before the first request. */
    public void start() {
        clock.start();
    }

    /** Stops the heartbeats; open connections are ended by the engine's drain before. */
    public void stop() {
        clock.stop();
        bodies.stop();
        streamableHttp.stop();
        httpSse.ifPresent(Protocol::stop);
        connections.stop();
    }

    /** How many streams are open. */
    public int openConnections() {
        return connections.size();
    }

    /** Handles one request; on a servlet that supports asynchronous processing. */
    public void handle(HttpServletRequest request, HttpServletResponse response) {
        Exchange exchange = exchange(request, response);
        Protocol protocol = servesHttpSse(request) ? httpSse.orElseThrow() : streamableHttp;
        protocol.prepare(response);
        try {
            if (!access.admits(exchange)) {
                return;
            }
            if (AccessCheck.isPreflight(exchange)) {
                AccessCheck.permit(exchange, protocol.methods(request));
            } else {
                serve(protocol, exchange);
            }
        } catch (Throwable e) {
            exchange.fail(e);
        }
    }

    /** Serves a request whose connection counts as its principal's until the request is answered, if connections are counted. */
    private void serve(Protocol protocol, Exchange exchange) {
        String principal = exchange.principal();
        Optional<Quota> counted = principal.isEmpty() ? Optional.empty() : perPrincipal;
        Optional<Refusal> full = counted.flatMap(quota -> quota.take(principal, 1));
        if (full.isPresent()) {
            exchange.turnAway(Rejection.of(full.get()));
            return;
        }
        try {
            exchange.follow(protocol.serve(exchange));
        } finally {
            counted.ifPresent(quota -> exchange.whenOver(() -> quota.add(principal, -1)));
        }
    }

    /**
     * Protects another page of the same server: returns whether a request for it has an allowed Host and Origin, and, unless its
     * method is {@code OPTIONS}, a principal that the {@link Authenticator} knows. If not, the request is answered as one for this
     * endpoint would be, and must not be touched any more; on a servlet that supports asynchronous processing.
     */
    public boolean admits(HttpServletRequest request, HttpServletResponse response) {
        Exchange exchange = exchange(request, response);
        try {
            return access.admits(exchange);
        } catch (RuntimeException e) {
            exchange.fail(e);
            return false;
        }
    }

    private Exchange exchange(HttpServletRequest request, HttpServletResponse response) {
        return new Exchange(request, response, bodies, engine::refused);
    }

    /** Whether a request is for one of the two paths of HTTP+SSE. */
    public boolean servesHttpSse(HttpServletRequest request) {
        return httpSse.isPresent() && httpSse.get().serves(request);
    }
}
