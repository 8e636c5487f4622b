package dev.holdfast.servlet;

import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.guard.RequestGuard;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.Step;
import dev.holdfast.servlet.sse.Era;
import jakarta.servlet.http.HttpServletRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** Reads a POST: {@code initialize}, a request, a notification, an answer, or a batch of the latter three. */
final class PostHandler {
    private final PostFace face;
    private final Sessions sessions;
    private final Function<HttpServletRequest, Object> context;
    private final CallStart calls;
    private final EnvelopeReader envelopes = new EnvelopeReader();

    /**
     * @param sessions where the sessions of the face are found
     */
    PostHandler(PostFace face, Sessions sessions, Function<HttpServletRequest, Object> context) {
        this.face = face;
        this.sessions = sessions;
        this.context = context;
        this.calls = new CallStart(face);
    }

    /** Reads a POST and does what it asks for. If its session is not there, its body is not read. */
    Step receive(Exchange exchange) {
        exchange.takeContext(context);
        Optional<Rejection> revision = RequestGuard.checkRevision(exchange.headers());
        if (revision.isPresent()) {
            // a client of another era is told so first, with the id of its request
            return read(exchange, revision);
        }
        return exchange.when(
                sessions.check(exchange),
                Optional.empty(),
                reason -> reason.isPresent() ? exchange.turnAway(reason.get()) : read(exchange, revision));
    }

    private Step read(Exchange exchange, Optional<Rejection> revision) {
        return exchange.read(body -> parse(exchange, body, revision));
    }

    /**
     * Parses a body.
     *
     * @param revision what the headers rule out, to be told with the id of the request
     */
    private Step parse(Exchange exchange, byte[] body, Optional<Rejection> revision) {
        EnvelopeReader.Parsed parsed = envelopes.read(body);
        if (parsed instanceof EnvelopeReader.Malformed malformed) {
            return exchange.reply(Rejection.of(Refusal.MALFORMED, 400, malformed.code(), malformed.message())
                    .to(malformed.id()));
        }
        List<Envelope> messages = parsed instanceof EnvelopeReader.Batch batch
                ? batch.messages()
                : List.of(((EnvelopeReader.Single) parsed).message());
        for (Envelope message : messages) {
            Optional<Rejection> unsupported =
                    RequestGuard.checkRevision(message).or(() -> revision);
            if (unsupported.isPresent()) {
                return exchange.reply(unsupported.get().to(message.id()));
            }
        }
        return parsed instanceof EnvelopeReader.Batch ? batch(exchange, messages) : single(exchange, messages);
    }

    private Step single(Exchange exchange, List<Envelope> messages) {
        Envelope message = messages.get(0);
        if (message.kind() != Envelope.Kind.REQUEST) {
            return face.find(exchange, message.id(), session -> take(exchange, session, messages));
        }
        return face.open(exchange, message)
                .orElseGet(() -> face.find(
                        exchange, message.id(), session -> calls.call(exchange, session, messages, List.of())));
    }

    private Step batch(Exchange exchange, List<Envelope> messages) {
        for (Envelope message : messages) {
            if (message.method().equals("initialize")) {
                return exchange.reply(Rejection.malformed("initialize must not be part of a batch")
                        .to(message.id()));
            }
        }
        return face.find(exchange, Optional.empty(), session -> batch(exchange, session, messages));
    }

    private Step batch(Exchange exchange, Session session, List<Envelope> messages) {
        if (!new Era(session.revision()).batches()) {
            return exchange.reply(Rejection.malformed(
                    "revision " + session.revision() + " has no batches: POST one message at a time"));
        }
        List<Envelope> requests = new ArrayList<>();
        List<Envelope> others = new ArrayList<>();
        messages.forEach(message -> (message.kind() == Envelope.Kind.REQUEST ? requests : others).add(message));
        return requests.isEmpty() ? take(exchange, session, others) : calls.call(exchange, session, requests, others);
    }

    /** Answers 202, or the reason why the first refused message was refused. */
    private static Step take(Exchange exchange, Session session, List<Envelope> messages) {
        return exchange.when(
                HandOver.all(session, messages, exchange.context()),
                Optional.empty(),
                refusal -> refusal.isPresent() ? exchange.reply(Rejection.of(refusal.get())) : exchange.status(202));
    }
}
