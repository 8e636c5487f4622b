package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionEngine;
import dev.holdfast.StreamReader;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a POST can be: {@code initialize}, a request, a notification, an answer, or a batch of the latter three. */
final class PostHandler {
    private static final Logger log = LoggerFactory.getLogger(PostHandler.class);
    private static final String INITIALIZE = "initialize";
    private static final String CANCELLED = "notifications/cancelled";
    private static final CompletionStage<Boolean> NOBODY_ASKED = CompletableFuture.completedFuture(false);
    private static final CompletionStage<Optional<Refusal>> TAKEN = CompletableFuture.completedFuture(Optional.empty());

    private final SessionEngine engine;
    private final EdgeOptions options;
    private final RequestGuard guard;
    private final PostFace face;
    private final EnvelopeReader envelopes = new EnvelopeReader();

    PostHandler(SessionEngine engine, EdgeOptions options, RequestGuard guard, PostFace face) {
        this.engine = engine;
        this.options = options;
        this.guard = guard;
        this.face = face;
    }

    /** Reads a POST and does what it asks for. For a session that is not there, nothing is read. */
    void receive(Exchange exchange) {
        exchange.takeContext();
        if (guard.checkRevision(exchange.headers()).isPresent()) {
            // a client of another era learns of that first, with the id of its request
            read(exchange);
        } else {
            exchange.when(
                    face.checkSession(exchange),
                    Optional.empty(),
                    useless -> useless.ifPresentOrElse(exchange::turnAway, () -> read(exchange)));
        }
    }

    private void read(Exchange exchange) {
        exchange.read(body -> handle(exchange, body));
    }

    private void handle(Exchange exchange, byte[] body) {
        EnvelopeReader.Parsed parsed = envelopes.read(body);
        if (parsed instanceof EnvelopeReader.Malformed malformed) {
            exchange.reply(Rejection.of(Refusal.MALFORMED, 400, malformed.code(), malformed.message())
                    .to(malformed.id()));
        } else if (parsed instanceof EnvelopeReader.Single single) {
            single(exchange, single.message());
        } else if (parsed instanceof EnvelopeReader.Batch batch) {
            batch(exchange, batch.messages());
        }
    }

    private void single(Exchange exchange, Envelope message) {
        Optional<Rejection> unsupported = guard.checkRevision(exchange.headers(), message);
        if (unsupported.isPresent()) {
            exchange.reply(unsupported.get());
            return;
        }
        boolean request = message.kind() == Envelope.Kind.REQUEST;
        if (request && message.method().equals(INITIALIZE) && face.initializeOpens()) {
            initialize(exchange, message);
        } else if (request) {
            face.find(exchange, message.id(), session -> call(exchange, session, List.of(message), List.of()));
        } else {
            face.find(exchange, message.id(), session -> take(exchange, session, List.of(message)));
        }
    }

    private void initialize(Exchange exchange, Envelope message) {
        InboundMessage request = message.inbound(exchange.context());
        exchange.when(
                engine.open(request, exchange.principal(), options.lifetime()),
                message.id(),
                opening -> answer(exchange, opening));
    }

    private static void answer(Exchange exchange, SessionEngine.Opening opening) {
        if (opening instanceof SessionEngine.Opened opened) {
            exchange.response().setHeader("Mcp-Session-Id", opened.session().id());
            exchange.json(200, opened.response().bytes());
        } else if (opening instanceof SessionEngine.Refused refused) {
            exchange.json(200, refused.response().bytes());
        } else if (opening instanceof SessionEngine.Unavailable unavailable) {
            exchange.reply(Rejection.of(unavailable.reason()));
        }
    }

    private void batch(Exchange exchange, List<Envelope> messages) {
        for (Envelope message : messages) {
            Optional<Rejection> unsupported = guard.checkRevision(exchange.headers(), message);
            if (unsupported.isPresent()) {
                exchange.reply(unsupported.get());
                return;
            }
            if (message.method().equals(INITIALIZE)) {
                exchange.reply(Rejection.malformed("initialize must not be part of a batch")
                        .to(message.id()));
                return;
            }
        }
        face.find(exchange, Optional.empty(), session -> batch(exchange, session, messages));
    }

    private void batch(Exchange exchange, Session session, List<Envelope> messages) {
        if (!new Era(session.revision()).batches()) {
            exchange.reply(Rejection.malformed(
                    "revision " + session.revision() + " has no batches: POST one message at a time"));
            return;
        }
        List<Envelope> requests = new ArrayList<>();
        List<Envelope> others = new ArrayList<>();
        messages.forEach(message -> (message.kind() == Envelope.Kind.REQUEST ? requests : others).add(message));
        if (requests.isEmpty()) {
            take(exchange, session, others);
        } else {
            call(exchange, session, requests, others);
        }
    }

    private void take(Exchange exchange, Session session, List<Envelope> messages) {
        exchange.when(
                handOver(exchange, session, messages),
                Optional.empty(),
                refusal -> refusal.ifPresentOrElse(
                        reason -> exchange.reply(Rejection.of(reason)), () -> exchange.status(Exchange.ACCEPTED)));
    }

    /** Notifications and answers: nothing comes back but that they were taken, or why the first was not that was not. */
    private CompletionStage<Optional<Refusal>> handOver(Exchange exchange, Session session, List<Envelope> messages) {
        CompletionStage<Optional<Refusal>> all = TAKEN;
        for (Envelope message : messages) {
            CompletionStage<Optional<Refusal>> taken = handOver(exchange, session, message);
            all = all.thenCombine(taken, (before, now) -> before.isPresent() ? before : now);
        }
        return all;
    }

    private CompletionStage<Optional<Refusal>> handOver(Exchange exchange, Session session, Envelope message) {
        if (message.kind() != Envelope.Kind.NOTIFICATION) {
            CompletionStage<Boolean> awaited =
                    message.id().isEmpty() ? NOBODY_ASKED : session.answer(message.inbound(exchange.context()));
            return awaited.thenApply(taken -> {
                if (!taken) {
                    log.debug("session {}: an answer that nobody waits for was dropped", session.shortId());
                }
                return Optional.empty();
            });
        }
        if (message.method().equals(CANCELLED)) {
            return message.cancelledRequest()
                    .map(id -> session.cancel(id, message.inbound(exchange.context()))
                            .thenApply(done -> Optional.<Refusal>empty()))
                    .orElse(TAKEN);
        }
        return session.notify(message.inbound(exchange.context()));
    }

    /** Nothing of a batch is done whose requests are refused. */
    private void call(Exchange exchange, Session session, List<Envelope> requests, List<Envelope> others) {
        List<InboundMessage> messages =
                requests.stream().map(r -> r.inbound(exchange.context())).toList();
        Optional<RequestId> id = requests.size() == 1 ? requests.get(0).id() : Optional.empty();
        exchange.when(
                session.call(messages),
                id,
                outcome -> {
                    if (outcome instanceof Call.Accepted accepted) {
                        run(exchange, session, accepted, id, others);
                    } else if (outcome instanceof Call.Duplicate duplicate) {
                        exchange.reply(Rejection.badRequest(
                                        Refusal.DUPLICATE_ID,
                                        "a request with id " + duplicate.id() + " is in flight already")
                                .to(Optional.of(duplicate.id())));
                    } else if (outcome instanceof Call.Refused refused) {
                        exchange.reply(Rejection.of(refused.reason()).to(id));
                    } else if (outcome instanceof Call.Closed closed) {
                        exchange.reply(closed.reason(), id);
                    }
                },
                PostHandler::orphaned);
    }

    /** A call that was taken runs, whatever becomes of the messages that came with it. */
    private void run(
            Exchange exchange, Session session, Call.Accepted accepted, Optional<RequestId> id, List<Envelope> others) {
        CompletionStage<Optional<Refusal>> handed;
        try {
            handed = handOver(exchange, session, others);
        } catch (Throwable e) {
            handed = CompletableFuture.failedFuture(e);
        }
        CompletionStage<Call.Outcome> ready = handed.handle((refusal, failure) -> {
            if (failure != null || refusal.isPresent()) {
                Object why = failure == null ? refusal.map(Refusal::text).orElse("") : failure;
                log.warn("session {}: a batch was not handed over whole: {}", session.shortId(), why.toString());
            }
            return accepted;
        });
        exchange.when(ready, id, outcome -> face.run(exchange, session, accepted.call()), PostHandler::orphaned);
    }

    /** The client of a call has left before its answer began, which does not cancel the call. */
    private static boolean orphaned(Call.Outcome outcome) {
        if (!(outcome instanceof Call.Accepted accepted)) {
            return false;
        }
        Call call = accepted.call();
        call.reader().ifPresent(reader -> reader.close(StreamReader.Close.BROKEN));
        // may run a handler to its end, and this thread belongs to somebody else
        Thread thread = new Thread(() -> dispatch(call), "holdfast-orphan");
        thread.setDaemon(true);
        try {
            thread.start();
        } catch (OutOfMemoryError e) {
            dispatch(call);
        }
        return true;
    }

    private static void dispatch(Call call) {
        try {
            call.dispatch();
        } catch (Throwable e) {
            log.error("a call could not be handed over", e);
        }
    }
}
