package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.EventId;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.Step;
import dev.holdfast.servlet.http.Streams;
import dev.holdfast.servlet.sse.Era;
import dev.holdfast.servlet.sse.Framing;
import dev.holdfast.servlet.sse.SseConnection;
import dev.holdfast.servlet.sse.SseSource;
import dev.holdfast.servlet.sse.WithoutRetry;
import jakarta.servlet.http.HttpServletResponse;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The streams of Streamable HTTP: the one of each call, and those that a client listens to by GET. */
record StreamableHttpStreams(Streams streams) {
    private static final Logger log = LoggerFactory.getLogger(StreamableHttpStreams.class);

    /** Answers a GET with the listening stream, or with the rest of a stream that the client names by an event id. */
    Step get(Exchange exchange, Session session) {
        Optional<String> lastEventId = exchange.headers().header("Last-Event-ID");
        if (lastEventId.isEmpty()) {
            return exchange.whenAttached(session.listen(), resume -> answer(exchange, session, resume));
        }
        Optional<EventId> after = EventId.parse(lastEventId.get().trim());
        return after.isEmpty()
                ? answer(exchange, session, new Resume.Unknown())
                : exchange.whenAttached(session.resume(after.get()), resume -> answer(exchange, session, resume));
    }

    private Step answer(Exchange exchange, Session session, Resume resume) {
        if (resume instanceof Resume.Resumed resumed) {
            listen(exchange, session, resumed.reader());
        } else if (resume instanceof Resume.Gap gap) {
            listen(exchange, session, gap.reader());
        } else if (resume instanceof Resume.Ended) {
            return exchange.status(HttpServletResponse.SC_NO_CONTENT);
        } else if (resume instanceof Resume.Closed closed) {
            exchange.answer().reply(closed.reason(), Optional.empty());
        } else {
            return exchange.reply(
                    Rejection.badRequest(Refusal.UNKNOWN_EVENT, "the Last-Event-ID names no event of this session"));
        }
        return Step.DONE;
    }

    private static Framing framing(Exchange exchange, Session session) {
        String agent = exchange.headers().header("User-Agent").orElse("");
        return WithoutRetry.where(agent, new Era(session.revision()));
    }

    private void listen(Exchange exchange, Session session, StreamReader reader) {
        streams.open(exchange, reader, cursor -> SseSource.get(cursor, framing(exchange, session)))
                .ifPresent(SseConnection::startNow);
    }

    /** Opens the stream before the backend is called, so that the backend can end it on request from the first moment on. */
    Step run(Exchange exchange, Session session, Call call) {
        Optional<SseConnection> connection = streams.open(
                exchange, call.reader().orElseThrow(), reader -> SseSource.call(reader, framing(exchange, session)));
        try {
            exchange.dispatch(call);
        } catch (Throwable e) {
            log.error("a call could not be handed over", e);
            connection.ifPresent(SseConnection::abort);
        }
        connection.ifPresent(SseConnection::start);
        return Step.DONE;
    }
}
