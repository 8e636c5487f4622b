package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.EventId;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionEngine;
import dev.holdfast.StreamReader;
import dev.holdfast.json.Envelope;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.guard.RequestGuard;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.sse.Era;
import dev.holdfast.servlet.sse.SseConnection;
import dev.holdfast.servlet.sse.SseSource;
import dev.holdfast.spi.RequestId;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Streamable HTTP: POST, GET and DELETE on one path. A POST that carries requests is answered by a stream of its own.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http">MCP transports,
 *     Streamable HTTP</a>
 */
final class StreamableHttp implements Face, PostFace {
    private static final Logger log = LoggerFactory.getLogger(StreamableHttp.class);
    private static final String INITIALIZE = "initialize";

    private final FaceContext context;
    private final Sessions sessions;
    private final PostHandler posts;

    StreamableHttp(FaceContext context) {
        this.context = context;
        this.sessions = new Sessions(
                context.engine(),
                StreamableHttp::sessionId,
                Rejection.malformed("the Mcp-Session-Id header is missing"),
                session -> !session.listensOnly());
        this.posts = new PostHandler(this, context.options().context());
    }

    private static Optional<String> sessionId(Exchange exchange) {
        return exchange.headers().header("Mcp-Session-Id").map(String::trim).filter(id -> !id.isEmpty());
    }

    @Override
    public boolean serves(HttpServletRequest request) {
        return true;
    }

    @Override
    public String methods(HttpServletRequest request) {
        return methods();
    }

    private String methods() {
        return context.options().allowDelete() ? "GET, POST, DELETE" : "GET, POST";
    }

    @Override
    public void serve(Exchange exchange) {
        Optional<Rejection> rejection = check(exchange);
        if (rejection.isPresent()) {
            exchange.turnAway(rejection.get());
            return;
        }
        switch (exchange.headers().method()) {
            case "POST" -> posts.receive(exchange);
            case "GET" ->
                withRevision(exchange, () -> sessions.find(exchange, Optional.empty(), s -> get(exchange, s)));
            default -> withRevision(exchange, () -> delete(exchange));
        }
    }

    private Optional<Rejection> check(Exchange exchange) {
        return switch (exchange.headers().method()) {
            case "POST" -> context.guard().checkPost(exchange.headers());
            case "GET" -> RequestGuard.checkGet(exchange.headers());
            case "DELETE" ->
                context.options().allowDelete()
                        ? Optional.empty()
                        : Optional.of(RequestGuard.methodNotAllowed(methods()));
            default -> Optional.of(RequestGuard.methodNotAllowed(methods()));
        };
    }

    private static void withRevision(Exchange exchange, Runnable then) {
        RequestGuard.checkRevision(exchange.headers()).ifPresentOrElse(exchange.answer()::reply, then);
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
            exchange.answer().status(HttpServletResponse.SC_NO_CONTENT);
        } else if (resume instanceof Resume.Closed closed) {
            exchange.answer().reply(closed.reason(), Optional.empty());
        } else {
            exchange.answer()
                    .reply(Rejection.badRequest(
                            Refusal.UNKNOWN_EVENT, "the Last-Event-ID names no event of this session"));
        }
    }

    private void listen(Exchange exchange, Session session, StreamReader reader) {
        context.streams()
                .open(exchange, reader, cursor -> SseSource.get(cursor, new Era(session.revision())))
                .ifPresent(SseConnection::startNow);
    }

    /** Ends the session, which need not come back from the store for that. */
    private void delete(Exchange exchange) {
        Optional<String> id = sessionId(exchange);
        if (id.isEmpty()) {
            exchange.answer().reply(sessions.missing());
            return;
        }
        exchange.when(context.engine().terminate(id.get(), exchange.principal()), Optional.empty(), was -> {
            if (was) {
                exchange.answer().status(HttpServletResponse.SC_OK);
            } else {
                exchange.answer().reply(sessions.unknown(id.get()));
            }
        });
    }

    @Override
    public CompletionStage<Optional<Rejection>> checkSession(Exchange exchange) {
        return sessions.check(exchange);
    }

    @Override
    public boolean opens(Exchange exchange, Envelope request) {
        if (!request.method().equals(INITIALIZE)) {
            return false;
        }
        exchange.when(
                context.engine()
                        .open(
                                request.inbound(exchange.context()),
                                exchange.principal(),
                                context.options().lifetime()),
                request.id(),
                opening -> answer(exchange, opening));
        return true;
    }

    private static void answer(Exchange exchange, SessionEngine.Opening opening) {
        if (opening instanceof SessionEngine.Opened opened) {
            exchange.response().setHeader("Mcp-Session-Id", opened.session().id());
            exchange.answer().json(200, opened.response().bytes());
        } else if (opening instanceof SessionEngine.Refused refused) {
            exchange.answer().json(200, refused.response().bytes());
        } else if (opening instanceof SessionEngine.Unavailable unavailable) {
            exchange.answer().reply(Rejection.of(unavailable.reason()));
        }
    }

    @Override
    public void find(Exchange exchange, Optional<RequestId> message, Consumer<Session> then) {
        sessions.find(exchange, message, then);
    }

    /** Opens the stream before the backend is called, so that the backend can end it on request from the first moment on. */
    @Override
    public void run(Exchange exchange, Session session, Call call) {
        Optional<SseConnection> connection = context.streams()
                .open(
                        exchange,
                        call.reader().orElseThrow(),
                        reader -> SseSource.call(reader, new Era(session.revision())));
        try {
            call.dispatch();
        } catch (Throwable e) {
            log.error("a call could not be handed over", e);
            connection.ifPresent(SseConnection::abort);
        }
        connection.ifPresent(SseConnection::start);
    }
}
