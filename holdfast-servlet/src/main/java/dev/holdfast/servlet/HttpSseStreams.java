package dev.holdfast.servlet;

import dev.holdfast.EventId;
import dev.holdfast.Lifetime;
import dev.holdfast.Opening;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.Unavailable;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.Step;
import dev.holdfast.servlet.sse.EndpointFraming;
import dev.holdfast.servlet.sse.Framing;
import dev.holdfast.servlet.sse.SseConnection;
import dev.holdfast.servlet.sse.SseSource;
import dev.holdfast.servlet.sse.WithoutRetry;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The GETs of HTTP+SSE: each opens a session, or comes back to one with an event id that names it.
 *
 * @param lifetime how long these sessions live
 */
record HttpSseStreams(
        FaceContext context, HttpSseOptions sse, Lifetime lifetime, Sessions sessions, HttpSsePeers peers) {
    Step get(Exchange exchange) {
        String lastEventId =
                exchange.headers().header("Last-Event-ID").orElse("").trim();
        int end = lastEventId.indexOf('.');
        Optional<EventId> after =
                peers.ephemeral() || end < 0 ? Optional.empty() : EventId.parse(lastEventId.substring(end + 1));
        return after.isEmpty() ? open(exchange) : comeBack(exchange, lastEventId.substring(0, end), after.get());
    }

    /** Resumes the session; opens another if it is not there any more. */
    private Step comeBack(Exchange exchange, String id, EventId after) {
        return exchange.when(context.engine().find(id, exchange.principal()), Optional.empty(), finding -> {
            Optional<Session> session = sessions.session(finding);
            if (session.isEmpty()) {
                return open(exchange);
            }
            return exchange.whenAttached(
                    session.get().resume(after),
                    resume -> attach(exchange, session.get(), resume) ? Step.DONE : open(exchange));
        });
    }

    private Step open(Exchange exchange) {
        return exchange.when(context.engine().open(exchange.principal(), lifetime), Optional.empty(), opening -> {
            if (opening instanceof Opening.Awaiting awaiting) {
                return begin(exchange, awaiting.session());
            }
            if (opening instanceof Unavailable unavailable) {
                return exchange.reply(Rejection.of(unavailable.reason()));
            }
            throw new IllegalStateException("a session that only listens was opened otherwise");
        });
    }

    private Step begin(Exchange exchange, Session session) {
        return exchange.whenAttached(
                session.listen(),
                resume ->
                        attach(exchange, session, resume) ? Step.DONE : exchange.reply(sessions.unknown(session.id())));
    }

    private boolean attach(Exchange exchange, Session session, Resume resume) {
        if (resume instanceof Resume.Resumed resumed) {
            stream(exchange, session, resumed.reader());
            return true;
        }
        if (resume instanceof Resume.Gap gap) {
            stream(exchange, session, gap.reader());
            return true;
        }
        return false;
    }

    private void stream(Exchange exchange, Session session, StreamReader reader) {
        context.streams()
                .open(exchange, reader, cursor -> source(exchange, session.id(), cursor))
                .ifPresentOrElse(SseConnection::startNow, () -> peers.forget(session.id()));
    }

    private SseSource source(Exchange exchange, String id, StreamReader reader) {
        return peers.connect(id)
                .map(proof -> SseSource.only(reader, framing(exchange, id, ""), proof))
                .orElseGet(() -> SseSource.get(reader, framing(exchange, id, id)));
    }

    private Framing framing(Exchange exchange, String id, String named) {
        String agent = exchange.headers().header("User-Agent").orElse("");
        return WithoutRetry.where(agent, new EndpointFraming(endpoint(exchange, id), named));
    }

    private String endpoint(Exchange exchange, String session) {
        String prefix = sse.base().isEmpty() ? prefix(exchange) : sse.base();
        return prefix + sse.messagePath() + "?sessionId=" + session;
    }

    /** What a client has put before the path of its GET, as far as can be seen from here. */
    private String prefix(Exchange exchange) {
        String forwarded = exchange.headers().header("X-Forwarded-Prefix").orElse("");
        String before = exchange.pathBefore(sse.path());
        return Stream.of(forwarded, before).filter(HttpSseOptions::prefix).collect(Collectors.joining());
    }
}
