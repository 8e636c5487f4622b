package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.EventId;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionEngine;
import dev.holdfast.StreamReader;
import dev.holdfast.spi.RequestId;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves a {@link SessionEngine} over Streamable HTTP: POST, GET and DELETE on one path; and, where {@link
 * EdgeOptions#httpSse} says so, over HTTP+SSE on two more. It serves the legacy revisions, those
 * with an {@code initialize} handshake; a client of a later one is told so in a way that makes it fall back.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http">MCP transports,
 *     Streamable HTTP</a>
 */
public final class McpEndpoint {
    private static final Logger log = LoggerFactory.getLogger(McpEndpoint.class);

    private final SessionEngine engine;
    private final EdgeOptions options;
    private final Doorkeeper door;
    private final RequestGuard guard;
    private final BodyReader bodies;
    private final ConnectionClock clock;
    private final PostHandler posts;
    private final Optional<HttpSseEndpoint> httpSse;

    /** An endpoint for an engine that the caller starts and closes. */
    public McpEndpoint(SessionEngine engine, EdgeOptions options) {
        this.engine = Objects.requireNonNull(engine, "engine");
        this.options = Objects.requireNonNull(options, "options");
        this.door = new Doorkeeper(options);
        this.guard = new RequestGuard(options);
        this.clock = new ConnectionClock(options, engine.clock(), engine.scheduler());
        this.bodies = new BodyReader(options, clock);
        this.posts = new PostHandler(engine, options, guard, new Streams());
        this.httpSse = options.httpSse().map(sse -> new HttpSseEndpoint(engine, options, sse, guard, clock));
    }

    /** Starts the heartbeats. Call it once, before the first request. */
    public void start() {
        clock.start();
    }

    /** Stops the heartbeats; open connections are ended by the engine's drain before. */
    public void stop() {
        clock.stop();
    }

    /** How many streams are open. */
    public int openConnections() {
        return clock.size();
    }

    /** Handles one request; on a servlet that supports asynchronous processing. */
    public void handle(HttpServletRequest request, HttpServletResponse response) {
        Exchange exchange = exchange(request, response);
        boolean sse = servesHttpSse(request);
        if (sse) {
            response.setHeader("Referrer-Policy", "no-referrer");
        }
        try {
            if (!admits(exchange)) {
                return;
            }
            if (exchange.preflight()) {
                exchange.allow(httpSse.filter(face -> sse)
                        .map(face -> face.method(request))
                        .orElseGet(guard::methods));
            } else if (httpSse.isPresent() && sse) {
                httpSse.get().serve(exchange, request);
            } else {
                serve(exchange);
            }
        } catch (Throwable e) {
            exchange.fail(Optional.empty(), e);
        }
    }

    /**
     * Stands before another page of the same server: whether a request for it comes by an allowed Host and Origin, and from
     * somebody whom the {@link Authenticator} knows, who is not asked for with {@code OPTIONS}. If not, it is answered, as one
     * for this endpoint would be, and must not be touched any more; on a servlet that supports asynchronous processing.
     */
    public boolean admits(HttpServletRequest request, HttpServletResponse response) {
        Exchange exchange = exchange(request, response);
        try {
            return admits(exchange);
        } catch (RuntimeException e) {
            exchange.fail(Optional.empty(), e);
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
        return new Exchange(request, response, engine, options, bodies);
    }

    /** Whether a request is for one of the two paths of HTTP+SSE. */
    public boolean servesHttpSse(HttpServletRequest request) {
        return httpSse.isPresent() && httpSse.get().serves(request);
    }

    private void serve(Exchange exchange) {
        Optional<Rejection> rejection = guard.checkHeaders(exchange.headers());
        if (rejection.isPresent()) {
            exchange.turnAway(rejection.get());
            return;
        }
        switch (exchange.headers().method()) {
            case "POST" -> posts.receive(exchange);
            case "GET" -> get(exchange);
            default -> delete(exchange);
        }
    }

    private void get(Exchange exchange) {
        session(exchange, session -> get(exchange, session));
    }

    private void get(Exchange exchange, Session session) {
        Optional<String> lastEventId = exchange.headers().header("Last-Event-ID");
        if (lastEventId.isEmpty()) {
            exchange.whenAttached(session.listen(), resume -> answer(exchange, session, resume));
            return;
        }
        Optional<EventId> after = EventId.parse(lastEventId.get().trim());
        if (after.isEmpty()) {
            answer(exchange, session, new Resume.Unknown());
        } else {
            exchange.whenAttached(session.resume(after.get()), resume -> answer(exchange, session, resume));
        }
    }

    private void answer(Exchange exchange, Session session, Resume resume) {
        if (resume instanceof Resume.Resumed resumed) {
            listen(exchange, session, resumed.reader());
        } else if (resume instanceof Resume.Gap gap) {
            listen(exchange, session, gap.reader());
        } else if (resume instanceof Resume.Ended) {
            exchange.status(HttpServletResponse.SC_NO_CONTENT);
        } else if (resume instanceof Resume.Closed closed) {
            exchange.reply(closed.reason(), Optional.empty());
        } else {
            exchange.reply(
                    Rejection.badRequest(Refusal.UNKNOWN_EVENT, "the Last-Event-ID names no event of this session"));
        }
    }

    /** Streamable HTTP: a POST that carries requests is answered by a stream of its own. */
    private final class Streams implements PostFace {
        @Override
        public boolean initializeOpens() {
            return true;
        }

        @Override
        public CompletionStage<Optional<Rejection>> checkSession(Exchange exchange) {
            return exchange.lookup().check();
        }

        @Override
        public void find(Exchange exchange, Optional<RequestId> message, Consumer<Session> then) {
            exchange.lookup().find(message, then);
        }

        /** The stream is there before the backend is called, so that it can be ended on request from the first moment on. */
        @Override
        public void run(Exchange exchange, Session session, Call call) {
            Optional<SseConnection> connection = exchange.stream(
                    call.reader().orElseThrow(), reader -> SseSource.call(reader, new Era(session.revision())), clock);
            try {
                call.dispatch();
            } catch (Throwable e) {
                log.error("a call could not be handed over", e);
                connection.ifPresent(SseConnection::abort);
            }
            connection.ifPresent(SseConnection::start);
        }
    }

    private void listen(Exchange exchange, Session session, StreamReader reader) {
        exchange.stream(reader, cursor -> SseSource.get(cursor, new Era(session.revision())), clock)
                .ifPresent(SseConnection::startNow);
    }

    private void delete(Exchange exchange) {
        guard.checkRevision(exchange.headers())
                .ifPresentOrElse(exchange::reply, () -> exchange.lookup().terminate());
    }

    /** Finds the session of a request without a body; if there is none, the request is answered. */
    private void session(Exchange exchange, Consumer<Session> then) {
        guard.checkRevision(exchange.headers())
                .ifPresentOrElse(exchange::reply, () -> exchange.lookup().find(Optional.empty(), then));
    }
}
