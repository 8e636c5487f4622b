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
    private static final String INITIALIZE = "initialize";

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

    /**
     * Reads a POST and does what it asks for. What its headers rule out is told with the id of its request, and not to an
     * {@code initialize}, which begins anew whatever revision or session they name.
     */
    Step receive(Exchange exchange) {
        exchange.takeContext(context);
        Optional<Rejection> revision = RequestGuard.checkRevision(exchange.headers());
        if (revision.isPresent()) {
            // a client of another era is told so before anything is said of its session
            return read(exchange, revision);
        }
        return exchange.when(
                sessions.check(exchange),
                Optional.empty(),
                absent -> absent.isPresent() && rulesOutAll(absent.get())
                        ? exchange.turnAway(absent.get())
                        : read(exchange, absent));
    }

    /** Whether not even an {@code initialize} is served: then the body is not read. */
    private boolean rulesOutAll(Rejection absent) {
        return !face.opens() || absent.refusal() == Refusal.DRAINING;
    }

    private Step read(Exchange exchange, Optional<Rejection> ruledOut) {
        return exchange.read(body -> parse(exchange, body, ruledOut));
    }

    /**
     * Parses a body.
     *
     * @param ruledOut why nothing but {@code initialize} is served
     */
    private Step parse(Exchange exchange, byte[] body, Optional<Rejection> ruledOut) {
        EnvelopeReader.Parsed parsed = envelopes.read(body);
        if (parsed instanceof EnvelopeReader.Malformed malformed) {
            return exchange.reply(Rejection.of(Refusal.MALFORMED, 400, malformed.code(), malformed.message())
                    .to(malformed.id()));
        }
        List<Envelope> messages = parsed instanceof EnvelopeReader.Batch batch
                ? batch.messages()
                : List.of(((EnvelopeReader.Single) parsed).message());
        boolean begins = parsed instanceof EnvelopeReader.Single && begins(messages.get(0));
        int tokens = 0;
        for (Envelope message : messages) {
            tokens += message.tokens();
            Optional<Rejection> unserved = begins
                    ? Optional.empty()
                    : RequestGuard.checkRevision(message).or(() -> ruledOut);
            if (unserved.isPresent()) {
                return exchange.reply(unserved.get().to(message.id()));
            }
        }
        Optional<Rejection> room = exchange.memory().handle(body.length, tokens);
        if (room.isPresent()) {
            return exchange.reply(
                    room.get().to(messages.size() == 1 ? messages.get(0).id() : Optional.empty()));
        }
        if (begins) {
            return face.open(exchange, messages.get(0)).orElseGet(() -> single(exchange, messages));
        }
        return parsed instanceof EnvelopeReader.Batch ? batch(exchange, messages) : single(exchange, messages);
    }

    private static boolean begins(Envelope message) {
        return message.kind() == Envelope.Kind.REQUEST && message.method().equals(INITIALIZE);
    }

    private Step single(Exchange exchange, List<Envelope> messages) {
        Envelope message = messages.get(0);
        if (message.kind() != Envelope.Kind.REQUEST) {
            return face.find(exchange, message.id(), session -> take(exchange, session, messages));
        }
        return face.find(exchange, message.id(), session -> calls.call(exchange, session, messages, List.of()));
    }

    private Step batch(Exchange exchange, List<Envelope> messages) {
        for (Envelope message : messages) {
            if (message.method().equals(INITIALIZE)) {
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
