package dev.holdfast.servlet;

import static dev.holdfast.servlet.guard.RequestHeaders.header;

import dev.holdfast.Call;
import dev.holdfast.EventId;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.Unavailable;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.guard.Accept;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.guard.RequestGuard;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.NextStep;
import dev.holdfast.servlet.io.BlockingPool;
import dev.holdfast.servlet.sse.Framing;
import dev.holdfast.servlet.sse.JsonAnswer;
import dev.holdfast.servlet.sse.SseConnection;
import dev.holdfast.servlet.sse.SseConnections;
import dev.holdfast.servlet.sse.SseFraming;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StreamId;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Streamable HTTP: POST, GET and DELETE on one path. A POST that carries requests is answered by a stream of its own; a client listens by
 * GET.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http">MCP transports,
 *     Streamable HTTP</a>
 */
final class StreamableHttp extends Protocol {
    private static final Logger log = LoggerFactory.getLogger(StreamableHttp.class);
    private static final int MAX_DECLINED = 256;
    /** What the client of a call is told that has run, perhaps, and that the store has not taken. */
    static final String NOT_STORED =
            "the session store failed while this call was running; whether it had any effect is not known";

    private final String methods;
    /** Answers questions in the place of clients that cannot be asked; a handler may go on there. */
    private final BlockingPool declining = new BlockingPool("holdfast-decline", MAX_DECLINED);

    StreamableHttp(SessionEngine engine, EdgeOptions options, SseConnections connections) {
        super(
                engine,
                options,
                connections,
                Rejection.malformed("the Mcp-Session-Id header is missing"),
                Rejection.of(Refusal.UNKNOWN_SESSION),
                options.protocols() != Protocols.LEGACY);
        this.methods = options.allowDelete() ? "GET, POST, DELETE" : "GET, POST";
    }

    @Override
    String methods(HttpServletRequest request) {
        return methods;
    }

    @Override
    Optional<String> sessionId(HttpServletRequest request) {
        return header(request, "Mcp-Session-Id").map(String::trim).filter(id -> !id.isEmpty());
    }

    @Override
    boolean owns(Session session) {
        return session.kind().equals(SessionRecord.SESSION);
    }

    @Override
    NextStep serve(Exchange exchange) {
        HttpServletRequest request = exchange.request();
        String method = request.getMethod();
        if (method.equals("POST")) {
            Accept accept = guard.accept(request);
            exchange.accept(accept);
            Optional<Rejection> rejection = guard.checkPost(request, accept);
            return rejection.isPresent() ? exchange.turnAway(rejection.get()) : post(exchange);
        }
        if (stateless(request)) {
            return exchange.turnAway(RequestGuard.methodNotAllowed("POST"));
        }
        boolean get = method.equals("GET");
        Optional<Rejection> rejection = get
                ? guard.checkGet(request)
                : method.equals("DELETE") && options.allowDelete()
                        ? Optional.empty()
                        : Optional.of(RequestGuard.methodNotAllowed(methods));
        if (rejection.isPresent()) {
            return exchange.turnAway(rejection.get());
        }
        Optional<Rejection> revision = RequestGuard.checkRevision(request);
        if (revision.isPresent()) {
            return exchange.reply(revision.get());
        }
        return get ? find(exchange, session -> get(exchange, session)) : delete(exchange);
    }

    /** Ends the session, which need not come back from the store for that. */
    private NextStep delete(Exchange exchange) {
        Optional<String> id = sessionId(exchange.request());
        if (id.isEmpty()) {
            return exchange.reply(missing);
        }
        return exchange.when(
                engine.terminate(id.get(), exchange.principal()),
                was -> was ? exchange.status(HttpServletResponse.SC_OK) : exchange.reply(unknown(id.get())));
    }

    /** Answers a GET with the listening stream, or with the rest of a stream that the client names by an event id. */
    private NextStep get(Exchange exchange, Session session) {
        Optional<String> lastEventId = header(exchange.request(), "Last-Event-ID");
        if (lastEventId.isEmpty()) {
            return exchange.whenAttached(
                    session.listen(), resume -> attach(exchange, session, resume, StreamId.LISTENING));
        }
        Optional<EventId> after = EventId.parse(lastEventId.get().trim());
        return after.isEmpty()
                ? attach(exchange, session, new Resume.Unknown(), StreamId.LISTENING)
                : exchange.whenAttached(
                        session.resume(after.get()), resume -> attach(exchange, session, resume, after.get().stream()));
    }

    private NextStep attach(Exchange exchange, Session session, Resume resume, StreamId stream) {
        Optional<StreamReader> reader = resume.attached();
        if (reader.isPresent()) {
            stream(exchange, reader.get(), () -> framing(exchange, session), null, null)
                    .ifPresent(connection -> {
                        // what a call has begun to answer is brought to its end
                        if (stream.equals(StreamId.LISTENING)) {
                            connection.listensUntil(exchange.validUntil());
                        }
                        connection.startNow();
                    });
            return NextStep.DONE;
        } else if (resume instanceof Resume.Ended) {
            return exchange.status(HttpServletResponse.SC_NO_CONTENT);
        } else if (resume instanceof Resume.Closed closed) {
            return exchange.reply(closed.reason());
        }
        return exchange.reply(
                Rejection.badRequest(Refusal.UNKNOWN_EVENT, "the Last-Event-ID names no event of this session"));
    }

    private static Framing framing(Exchange exchange, Session session) {
        String agent = header(exchange.request(), "User-Agent").orElse("");
        return SseFraming.streamable(session.revision(), agent);
    }

    @Override
    boolean opens() {
        return true;
    }

    @Override
    NextStep open(Exchange exchange, Envelope initialize) {
        return exchange.when(
                engine.open(initialize.inbound(exchange.context()), exchange.principal(), options.lifetime()),
                opening -> opened(exchange, initialize.id(), opening));
    }

    private static NextStep opened(Exchange exchange, Optional<RequestId> id, Opening opening) {
        if (opening instanceof Opening.Opened opened) {
            Session session = opened.session();
            Optional<String> unserved = RequestGuard.unserved(session.revision());
            if (unserved.isPresent()) {
                // requests name the revision from 2025-06-18 on, and would all be refused
                return exchange.when(
                        session.terminate(),
                        ended -> exchange.message(JsonRpc.errorBody(id, JsonRpc.SERVER_ERROR, unserved.get())));
            }
            exchange.response().setHeader("Mcp-Session-Id", session.id());
            return exchange.message(opened.response().bytes());
        } else if (opening instanceof Opening.Refused refused) {
            return exchange.message(refused.response().bytes());
        } else if (opening instanceof Unavailable unavailable) {
            return exchange.reply(Rejection.of(unavailable.reason()));
        }
        throw new IllegalStateException("a session was opened that waits for its initialize");
    }

    /** Opens the stream before the backend is called, so that the backend can end it on request from the first moment on. */
    @Override
    NextStep run(Exchange exchange, Session session, Call call, List<InboundMessage> requests, boolean batch) {
        Supplier<Framing> framing = () -> exchange.accept() == Accept.JSON
                ? new JsonAnswer(
                        requests.stream().map(InboundMessage::requiredId).toList(),
                        batch,
                        question -> decline(session, question))
                : framing(exchange, session);
        Runnable unstored = () -> exchange.send(errors(requests, batch, NOT_STORED));
        Optional<SseConnection> connection = stream(exchange, call.reader().orElseThrow(), framing, unstored, null);
        return dispatched(exchange, session, call, connection);
    }

    /** Answers a question with an error, for no client sees it. */
    private void decline(Session session, RequestId question) {
        byte[] error = JsonRpc.errorBody(
                Optional.of(question),
                JsonRpc.METHOD_NOT_FOUND,
                "the client cannot be asked: it accepts application/json only, and not text/event-stream");
        InboundMessage answer = new InboundMessage(
                InboundMessage.Kind.RESPONSE, question, "", error, JournalChange.NONE, InboundMessage.NO_CONTEXT);
        Runnable give = () -> session.answer(answer).whenComplete((taken, failure) -> {
            if (failure != null) {
                log.warn("session {}: a question could not be declined", session.shortId(), failure);
            }
        });
        if (!declining.offer(give)) {
            give.run();
        }
    }

    @Override
    void stop() {
        super.stop();
        declining.stop();
    }
}
