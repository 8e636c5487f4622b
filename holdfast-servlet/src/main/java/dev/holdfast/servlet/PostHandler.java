package dev.holdfast.servlet;

import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.guard.RequestGuard;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.sse.Era;
import jakarta.servlet.http.HttpServletRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** Reads a POST: {@code initialize}, a request, a notification, an answer, or a batch of the latter three. */
final class PostHandler {
    private final PostFace face;
    private final Function<HttpServletRequest, Object> context;
    private final CallStart calls;
    private final EnvelopeReader envelopes = new EnvelopeReader();

    PostHandler(PostFace face, Function<HttpServletRequest, Object> context) {
        this.face = face;
        this.context = context;
        this.calls = new CallStart(face);
    }

    /** Reads a POST and does what it asks for. If its session is not there, its body is not read. */
    void receive(Exchange exchange) {
        exchange.takeContext(context);
        if (RequestGuard.checkRevision(exchange.headers()).isPresent()) {
            // a client of another era is told so first, with the id of its request
            read(exchange);
        } else {
            exchange.when(
                    face.checkSession(exchange),
                    Optional.empty(),
                    reason -> reason.ifPresentOrElse(exchange::turnAway, () -> read(exchange)));
        }
    }

    private void read(Exchange exchange) {
        exchange.read(body -> handle(exchange, body));
    }

    private void handle(Exchange exchange, byte[] body) {
        EnvelopeReader.Parsed parsed = envelopes.read(body);
        if (parsed instanceof EnvelopeReader.Malformed malformed) {
            exchange.answer()
                    .reply(Rejection.of(Refusal.MALFORMED, 400, malformed.code(), malformed.message())
                            .to(malformed.id()));
        } else if (parsed instanceof EnvelopeReader.Single single) {
            single(exchange, single.message());
        } else if (parsed instanceof EnvelopeReader.Batch batch) {
            batch(exchange, batch.messages());
        }
    }

    private void single(Exchange exchange, Envelope message) {
        Optional<Rejection> unsupported = RequestGuard.checkRevision(exchange.headers(), message);
        if (unsupported.isPresent()) {
            exchange.answer().reply(unsupported.get());
        } else if (message.kind() != Envelope.Kind.REQUEST) {
            face.find(exchange, message.id(), session -> take(exchange, session, List.of(message)));
        } else if (!face.opens(exchange, message)) {
            face.find(exchange, message.id(), session -> calls.call(exchange, session, List.of(message), List.of()));
        }
    }

    private void batch(Exchange exchange, List<Envelope> messages) {
        for (Envelope message : messages) {
            Optional<Rejection> unsupported = RequestGuard.checkRevision(exchange.headers(), message);
            if (unsupported.isPresent()) {
                exchange.answer().reply(unsupported.get());
                return;
            }
            if (message.method().equals("initialize")) {
                exchange.answer()
                        .reply(Rejection.malformed("initialize must not be part of a batch")
                                .to(message.id()));
                return;
            }
        }
        face.find(exchange, Optional.empty(), session -> batch(exchange, session, messages));
    }

    private void batch(Exchange exchange, Session session, List<Envelope> messages) {
        if (!new Era(session.revision()).batches()) {
            exchange.answer()
                    .reply(Rejection.malformed(
                            "revision " + session.revision() + " has no batches: POST one message at a time"));
            return;
        }
        List<Envelope> requests = new ArrayList<>();
        List<Envelope> others = new ArrayList<>();
        messages.forEach(message -> (message.kind() == Envelope.Kind.REQUEST ? requests : others).add(message));
        if (requests.isEmpty()) {
            take(exchange, session, others);
        } else {
            calls.call(exchange, session, requests, others);
        }
    }

    /** Answers 202, or the reason why the first refused message was refused. */
    private static void take(Exchange exchange, Session session, List<Envelope> messages) {
        exchange.when(
                HandOver.all(session, messages, exchange.context()),
                Optional.empty(),
                refusal -> refusal.ifPresentOrElse(
                        reason -> exchange.answer().reply(Rejection.of(reason)),
                        () -> exchange.answer().status(202)));
    }
}
