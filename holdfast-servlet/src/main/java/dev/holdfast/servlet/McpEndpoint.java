package dev.holdfast.servlet;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.servlet.body.BodyClock;
import dev.holdfast.servlet.body.BodyReader;
import dev.holdfast.servlet.guard.Cors;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.io.EdgeClock;
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
    private final Door door;
    private final EdgeClock clock;
    private final BodyClock bodyClock;
    private final BodyReader bodies;
    private final Faces faces;
    private final Optional<Quota> connections;

    /** An endpoint for an engine that the caller starts and closes. */
    public McpEndpoint(SessionEngine engine, EdgeOptions options) {
        this.engine = Objects.requireNonNull(engine, "engine");
        Objects.requireNonNull(options, "options");
        this.door = new Door(options);
        this.clock = new EdgeClock(engine.clock(), engine.scheduler());
        this.bodyClock = new BodyClock(clock, options.requestDeadline());
        this.bodies = new BodyReader(
                options.maxRequestSize(),
                engine.quota(options.maxRequestBytes(), Refusal.BODY_ROOM),
                engine::requestMemory,
                bodyClock);
        this.faces = new Faces(engine, options, clock);
        this.connections = options.connections();
    }

    /** Starts the heartbeats. Call it once, before the first request. */
    public void start() {
        clock.start();
    }

    /** Stops the heartbeats; open connections are ended by the engine's drain before. */
    public void stop() {
        clock.stop();
        bodyClock.stop();
        faces.stop();
    }

    /** How many streams are open. */
    public int openConnections() {
        return faces.openConnections();
    }

    /** Handles one request; on a servlet that supports asynchronous processing. */
    public void handle(HttpServletRequest request, HttpServletResponse response) {
        Exchange exchange = exchange(request, response);
        Face face = faces.of(request);
        face.prepare(response);
        try {
            if (!admits(exchange)) {
                return;
            }
            if (exchange.preflight()) {
                Cors.letAsk(response, exchange.headers(), face.methods(request));
                exchange.answer().status(HttpServletResponse.SC_NO_CONTENT);
            } else {
                serve(face, exchange);
            }
        } catch (Throwable e) {
            exchange.answer().fail(Optional.empty(), e);
        }
    }

    /** Serves a request whose connection counts as its principal's until the request is answered, if connections are counted. */
    private void serve(Face face, Exchange exchange) {
        String principal = exchange.principal();
        Optional<Quota> counted = principal.isEmpty() ? Optional.empty() : connections;
        Optional<Refusal> full = counted.flatMap(quota -> quota.take(principal, 1));
        if (full.isPresent()) {
            exchange.turnAway(Rejection.of(full.get()));
            return;
        }
        try {
            exchange.follow(face.serve(exchange));
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
            return admits(exchange);
        } catch (RuntimeException e) {
            exchange.answer().fail(Optional.empty(), e);
            return false;
        }
    }

    private boolean admits(Exchange exchange) {
        Optional<Rejection> stranger = door.check(exchange);
        if (stranger.isPresent()) {
            exchange.turnAway(stranger.get());
        }
        return stranger.isEmpty();
    }

    private Exchange exchange(HttpServletRequest request, HttpServletResponse response) {
        return new Exchange(request, response, engine, bodies);
    }

    /** Whether a request is for one of the two paths of HTTP+SSE. */
    public boolean servesHttpSse(HttpServletRequest request) {
        return faces.httpSse().filter(face -> face.serves(request)).isPresent();
    }
}
