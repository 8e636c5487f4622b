package dev.holdfast.servlet;

import static dev.holdfast.servlet.guard.RequestHeaders.header;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.servlet.guard.OriginPolicy;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.RequestBodies;
import dev.holdfast.servlet.io.EdgeClock;
import dev.holdfast.servlet.sse.SseConnections;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;

/**
 * Serves a {@link SessionEngine} over Streamable HTTP: POST, GET and DELETE on one path; and, where {@link
 * EdgeOptions#httpSse} says so, over HTTP+SSE on two more. Which revisions it serves is {@link EdgeOptions#protocols}'s; a client of a
 * later one than those is told so in a way that makes it fall back.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http">MCP transports,
 *     Streamable HTTP</a>
 */
public final class McpEndpoint {
    private static final String HEADERS = "Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, "
            + "Last-Event-ID, Mcp-Method, Mcp-Name";
    private static final String EXPOSED = "Mcp-Session-Id, WWW-Authenticate, Retry-After";
    /** Names of headers, as a browser lists them. */
    private static final Pattern NAMES = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,1024}");
    /** Two hours: no browser keeps a permission for much longer. */
    private static final String MAX_AGE = "7200";
    /** So many nanoseconds are a number. */
    private static final Duration FOR_EVER = Duration.ofDays(36_500);

    private final OriginPolicy origins;
    private final Authenticator authenticator;
    private final Optional<Quota> perPrincipal;
    private final EdgeClock clock;
    private final RequestBodies bodies;
    private final BiConsumer<Refusal, String> refusals;
    private final SseConnections connections;
    private final StreamableHttp streamableHttp;
    private final Optional<HttpSse> httpSse;

    /** An endpoint for an engine that the caller starts and closes. */
    public McpEndpoint(SessionEngine engine, EdgeOptions options) {
        Objects.requireNonNull(engine, "engine");
        Objects.requireNonNull(options, "options");
        this.origins = new OriginPolicy(options.allowedHosts(), options.allowedOrigins());
        this.authenticator = options.authenticator();
        this.perPrincipal = options.connections();
        this.clock = new EdgeClock(engine.clock(), engine.scheduler());
        this.bodies = new RequestBodies(
                options.maxRequestSize(),
                options.requestDeadline(),
                engine.quota(options.maxRequestBytes(), Refusal.BODY_ROOM),
                engine::requestMemory,
                clock);
        this.refusals = engine::refused;
        this.connections = new SseConnections(
                clock,
                options.heartbeatInterval(),
                options.retryInterval(),
                options.maxConnectionAge(),
                options.stallDeadline(),
                engine::stalled);
        this.streamableHttp = new StreamableHttp(engine, options, connections);
        this.httpSse = options.httpSse().map(sse -> new HttpSse(engine, options, sse, connections, clock));
    }

    /** Starts the heartbeats. Call it once, before the first request. */
    public void start() {
        clock.start();
        streamableHttp.start();
    }

    /**
     * Tells that the engine's backend opens connections to another server from now on: requests that name no session get one of those.
     * Sessions keep theirs.
     */
    public void renew() {
        streamableHttp.renew();
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
        Exchange exchange = new Exchange(request, response, bodies, refusals);
        Protocol protocol = servesHttpSse(request) ? httpSse.orElseThrow() : streamableHttp;
        protocol.prepare(response);
        try {
            if (!admits(exchange)) {
                return;
            }
            if (request.getMethod().equals("OPTIONS")
                    && header(request, "Origin").isPresent()) {
                permit(exchange, protocol.methods(request));
                return;
            }
            String principal = exchange.principal();
            if (perPrincipal.isEmpty() || principal.isEmpty()) {
                exchange.follow(protocol.serve(exchange));
            } else {
                serveCounted(protocol, exchange, perPrincipal.get());
            }
        } catch (Throwable e) {
            exchange.fail(e);
        }
    }

    /** Serves a request whose connection counts as its principal's until the request is answered. */
    private static void serveCounted(Protocol protocol, Exchange exchange, Quota quota) {
        String principal = exchange.principal();
        Optional<Refusal> full = quota.take(principal, 1);
        if (full.isPresent()) {
            exchange.turnAway(Rejection.of(full.get()));
            return;
        }
        try {
            exchange.follow(protocol.serve(exchange));
        } finally {
            exchange.whenOver(() -> quota.add(principal, -1));
        }
    }

    /**
     * Protects another page of the same server: returns whether a request for it has an allowed Host and Origin, and, unless its
     * method is {@code OPTIONS}, a principal that the {@link Authenticator} knows. If not, the request is answered as one for this
     * endpoint would be, and must not be touched any more; on a servlet that supports asynchronous processing.
     */
    public boolean admits(HttpServletRequest request, HttpServletResponse response) {
        return visitor(request, response).isPresent();
    }

    /**
     * As {@link #admits}, for a page that shows each principal what is its own.
     *
     * @return the principal that asks, empty text for nobody in particular; nothing if the request is answered
     */
    public Optional<String> visitor(HttpServletRequest request, HttpServletResponse response) {
        Exchange exchange = new Exchange(request, response, bodies, refusals);
        try {
            return admits(exchange) ? Optional.of(exchange.principal()) : Optional.empty();
        } catch (RuntimeException e) {
            exchange.fail(e);
            return Optional.empty();
        }
    }

    /**
     * The first check of every request, on every path and with every method: its host, its origin and its principal, which the exchange
     * knows then; one that does not pass is answered. A page of an allowed origin may read every answer, errors too: without the headers of
     * CORS a browser hides an answer from it, and does not send a request that needs permission.
     *
     * @see <a href="https://fetch.spec.whatwg.org/#http-cors-protocol">Fetch, CORS protocol</a>
     */
    private boolean admits(Exchange exchange) {
        HttpServletRequest request = exchange.request();
        HttpServletResponse response = exchange.response();
        // whatever the answer is, it depends on the page that asks
        response.addHeader("Vary", "Origin");
        Optional<Rejection> refusal = origins.check(request);
        if (refusal.isEmpty()) {
            header(request, "Origin").ifPresent(page -> {
                response.setHeader("Access-Control-Allow-Origin", page.trim());
                // beside what a filter of the application lets a page see
                response.addHeader("Access-Control-Expose-Headers", EXPOSED);
            });
            refusal = request.getMethod().equals("OPTIONS") ? Optional.empty() : authenticate(exchange, request);
        }
        refusal.ifPresent(exchange::turnAway);
        return refusal.isEmpty();
    }

    private Optional<Rejection> authenticate(Exchange exchange, HttpServletRequest request) {
        Authenticator.Answer answer =
                Objects.requireNonNull(authenticator.authenticate(request), "the authenticator has returned null");
        if (answer instanceof Authenticator.Known known) {
            exchange.principal(known.principal());
            known.validity()
                    .filter(validity -> validity.compareTo(FOR_EVER) < 0)
                    .ifPresent(validity -> exchange.validUntil(clock.now() + validity.toNanos()));
            return Optional.empty();
        } else if (answer instanceof Authenticator.Undecided) {
            return Optional.of(Rejection.of(Refusal.AUTHENTICATION));
        } else if (answer instanceof Authenticator.Stranger stranger) {
            return challenged(Refusal.UNAUTHENTICATED, stranger.challenge().header("", ""));
        } else if (answer instanceof Authenticator.WrongToken wrong) {
            return challenged(Refusal.UNAUTHENTICATED, wrong.challenge().header("invalid_token", ""));
        }
        Authenticator.InsufficientScope narrow = (Authenticator.InsufficientScope) answer;
        return challenged(
                Refusal.INSUFFICIENT_SCOPE, narrow.challenge().header("insufficient_scope", narrow.description()));
    }

    private static Optional<Rejection> challenged(Refusal refusal, String challenge) {
        return Optional.of(Rejection.of(refusal).with("WWW-Authenticate", challenge));
    }

    /** Answers a preflight: an allowed page may send requests that need permission. */
    private static void permit(Exchange exchange, String methods) {
        HttpServletResponse response = exchange.response();
        HttpServletRequest request = exchange.request();
        response.setHeader("Access-Control-Allow-Methods", methods);
        // whatever the page asks for, beside what every client sends: its origin is allowed
        String asked = header(request, "Access-Control-Request-Headers")
                .filter(names -> NAMES.matcher(names).matches())
                .map(names -> ", " + names)
                .orElse("");
        response.setHeader("Access-Control-Allow-Headers", HEADERS + asked);
        response.setHeader("Access-Control-Max-Age", MAX_AGE);
        if (header(request, "Access-Control-Request-Private-Network").isPresent()) {
            response.setHeader("Access-Control-Allow-Private-Network", "true");
        }
        exchange.status(HttpServletResponse.SC_NO_CONTENT);
    }

    /** Whether a request is for one of the two paths of HTTP+SSE. */
    public boolean servesHttpSse(HttpServletRequest request) {
        return httpSse.isPresent() && httpSse.get().serves(request);
    }
}
