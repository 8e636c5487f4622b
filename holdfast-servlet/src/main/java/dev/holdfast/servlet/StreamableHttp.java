package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.Unavailable;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.guard.RequestGuard;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.Step;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Streamable HTTP: POST, GET and DELETE on one path. A POST that carries requests is answered by a stream of its own.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http">MCP transports,
 *     Streamable HTTP</a>
 */
final class StreamableHttp implements Face, PostFace {
    private final FaceContext context;
    private final Sessions sessions;
    private final StreamableHttpStreams streams;
    private final PostHandler posts;

    StreamableHttp(FaceContext context) {
        this.context = context;
        this.sessions = new Sessions(
                context.engine(),
                StreamableHttp::sessionId,
                Rejection.malformed("the Mcp-Session-Id header is missing"),
                Rejection.of(Refusal.UNKNOWN_SESSION),
                session -> !session.listensOnly());
        this.streams = new StreamableHttpStreams(context.streams());
        this.posts = new PostHandler(this, sessions, context.options().context());
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
    public Step serve(Exchange exchange) {
        Optional<Rejection> rejection = check(exchange);
        if (rejection.isPresent()) {
            return exchange.turnAway(rejection.get());
        }
        return switch (exchange.headers().method()) {
            case "POST" -> posts.receive(exchange);
            case "GET" ->
                withRevision(
                        exchange,
                        () -> sessions.find(exchange, Optional.empty(), session -> streams.get(exchange, session)));
            default -> withRevision(exchange, () -> delete(exchange));
        };
    }

    private Optional<Rejection> check(Exchange exchange) {
        return switch (exchange.headers().method()) {
            case "POST" -> {
                exchange.accept(context.guard().accept(exchange.headers()));
                yield context.guard().checkPost(exchange.headers(), exchange.accept());
            }
            case "GET" -> context.guard().checkGet(exchange.headers());
            case "DELETE" ->
                context.options().allowDelete()
                        ? Optional.empty()
                        : Optional.of(RequestGuard.methodNotAllowed(methods()));
            default -> Optional.of(RequestGuard.methodNotAllowed(methods()));
        };
    }

    private static Step withRevision(Exchange exchange, Step then) {
        return RequestGuard.checkRevision(exchange.headers())
                .map(exchange::reply)
                .orElse(then);
    }

    /** Ends the session, which need not come back from the store for that. */
    private Step delete(Exchange exchange) {
        Optional<String> id = sessionId(exchange);
        if (id.isEmpty()) {
            return exchange.reply(sessions.missing());
        }
        return exchange.when(
                context.engine().terminate(id.get(), exchange.principal()),
                Optional.empty(),
                was -> was ? exchange.status(HttpServletResponse.SC_OK) : exchange.reply(sessions.unknown(id.get())));
    }

    @Override
    public boolean opens() {
        return true;
    }

    @Override
    public Optional<Step> open(Exchange exchange, Envelope request) {
        return Optional.of(exchange.when(
                context.engine()
                        .open(
                                request.inbound(exchange.context()),
                                exchange.principal(),
                                context.options().lifetime()),
                request.id(),
                opening -> opened(exchange, request.id(), opening)));
    }

    /** Requests of a session name its revision from 2025-06-18 on, and would all be refused where that is not served: it ends at once. */
    private static Step opened(Exchange exchange, Optional<RequestId> id, Opening opening) {
        Optional<String> unserved = opening instanceof Opening.Opened opened
                ? RequestGuard.unserved(opened.session().revision())
                : Optional.empty();
        if (unserved.isEmpty()) {
            return answer(exchange, opening);
        }
        return exchange.when(((Opening.Opened) opening).session().terminate(), id, ended -> {
            return exchange.message(JsonRpc.errorBody(id, JsonRpc.SERVER_ERROR, unserved.get()));
        });
    }

    private static Step answer(Exchange exchange, Opening opening) {
        if (opening instanceof Opening.Opened opened) {
            exchange.response().setHeader("Mcp-Session-Id", opened.session().id());
            return exchange.message(opened.response().bytes());
        } else if (opening instanceof Opening.Refused refused) {
            return exchange.message(refused.response().bytes());
        } else if (opening instanceof Unavailable unavailable) {
            return exchange.reply(Rejection.of(unavailable.reason()));
        }
        throw new IllegalStateException("a session was opened that waits for its initialize");
    }

    @Override
    public Step find(Exchange exchange, Optional<RequestId> message, Function<Session, Step> then) {
        return sessions.find(exchange, message, then);
    }

    @Override
    public Step run(Exchange exchange, Session session, Call call, List<InboundMessage> requests) {
        return streams.run(exchange, session, call, requests);
    }

    @Override
    public void stop() {
        streams.stop();
    }
}
