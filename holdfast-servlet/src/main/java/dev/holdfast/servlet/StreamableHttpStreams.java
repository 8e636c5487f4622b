package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.EventId;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.guard.Accept;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.Step;
import dev.holdfast.servlet.http.Streams;
import dev.holdfast.servlet.io.Writers;
import dev.holdfast.servlet.sse.Era;
import dev.holdfast.servlet.sse.Framing;
import dev.holdfast.servlet.sse.JsonAnswer;
import dev.holdfast.servlet.sse.SseConnection;
import dev.holdfast.servlet.sse.SseSource;
import dev.holdfast.servlet.sse.WithoutRetry;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import jakarta.servlet.http.HttpServletResponse;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The streams of Streamable HTTP: the one of each call, and those that a client listens to by GET.
 *
 * @param declining answers questions in the place of clients that cannot be asked; a handler may go on there
 */
record StreamableHttpStreams(Streams streams, Writers declining) {
    private static final Logger log = LoggerFactory.getLogger(StreamableHttpStreams.class);
    private static final int MAX_DECLINED = 256;

    StreamableHttpStreams(Streams streams) {
        this(streams, new Writers("holdfast-decline", MAX_DECLINED));
    }

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

    /** How the stream of a call is written: for a client that takes JSON only it is one answer. */
    private Framing framing(Exchange exchange, Session session, List<InboundMessage> requests) {
        if (exchange.accept() != Accept.JSON) {
            return framing(exchange, session);
        }
        return new JsonAnswer(
                requests.stream().map(InboundMessage::requiredId).toList(), question -> decline(session, question));
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

    /** Ends its threads. */
    void stop() {
        declining.stop();
    }

    private void listen(Exchange exchange, Session session, StreamReader reader) {
        streams.open(exchange, reader, cursor -> SseSource.get(cursor, framing(exchange, session)))
                .ifPresent(SseConnection::startNow);
    }

    /** The store did not take the call. */
    private static void refuse(Exchange exchange, List<InboundMessage> requests) {
        Optional<RequestId> only =
                requests.size() == 1 ? Optional.of(requests.get(0).requiredId()) : Optional.empty();
        exchange.answer().send(Rejection.of(Refusal.STORE).to(only));
    }

    /** Opens the stream before the backend is called, so that the backend can end it on request from the first moment on. */
    Step run(Exchange exchange, Session session, Call call, List<InboundMessage> requests) {
        Framing framing = framing(exchange, session, requests);
        Runnable refusal = () -> refuse(exchange, requests);
        Optional<SseConnection> connection =
                streams.open(exchange, call.reader().orElseThrow(), reader -> SseSource.call(reader, framing, refusal));
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
