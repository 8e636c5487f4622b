package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.Session;
import dev.holdfast.SessionEngine;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a POST can be: {@code initialize}, a request, a notification, an answer, or a batch of the latter three. */
final class PostHandler {
    private static final Logger log = LoggerFactory.getLogger(PostHandler.class);
    private static final String INITIALIZE = "initialize";
    private static final String CANCELLED = "notifications/cancelled";
    private static final int ACCEPTED = 202;

    private final SessionEngine engine;
    private final EdgeOptions options;
    private final RequestGuard guard;
    private final ConnectionClock clock;
    private final EnvelopeReader envelopes = new EnvelopeReader();

    PostHandler(SessionEngine engine, EdgeOptions options, RequestGuard guard, ConnectionClock clock) {
        this.engine = engine;
        this.options = options;
        this.guard = guard;
        this.clock = clock;
    }

    void handle(Exchange exchange, byte[] body) {
        EnvelopeReader.Parsed parsed = envelopes.read(body);
        if (parsed instanceof EnvelopeReader.Malformed malformed) {
            exchange.reply(
                    Rejection.of(400, malformed.code(), malformed.message()).to(malformed.id()));
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
        if (request && message.method().equals(INITIALIZE)) {
            initialize(exchange, message);
            return;
        }
        Optional<Session> found = exchange.session(engine, message.id());
        if (found.isEmpty()) {
            return;
        }
        if (request) {
            call(exchange, found.get(), List.of(message), List.of());
        } else {
            take(exchange, found.get(), List.of(message));
        }
    }

    private void initialize(Exchange exchange, Envelope message) {
        InboundMessage request = message.inbound(exchange.context());
        when(
                exchange,
                engine.open(request, exchange.principal(), options.lifetime()),
                message.id(),
                (session, opening) -> answer(exchange, opening));
    }

    private static void answer(Exchange exchange, SessionEngine.Opening opening) {
        if (opening instanceof SessionEngine.Opened opened) {
            exchange.response().setHeader("Mcp-Session-Id", opened.session().id());
            exchange.json(200, opened.response().bytes());
        } else if (opening instanceof SessionEngine.Refused refused) {
            exchange.json(200, refused.response().bytes());
        } else if (opening instanceof SessionEngine.Unavailable unavailable) {
            exchange.reply(unavailable.reason(), Optional.empty());
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
                exchange.reply(Rejection.badRequest("initialize must not be part of a batch")
                        .to(message.id()));
                return;
            }
        }
        Optional<Session> found = exchange.session(engine, Optional.empty());
        if (found.isEmpty()) {
            return;
        }
        Session session = found.get();
        if (!new Era(session.revision()).batches()) {
            exchange.reply(Rejection.badRequest(
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
        when(
                exchange,
                handOver(exchange, session, messages),
                Optional.empty(),
                (at, done) -> exchange.status(ACCEPTED));
    }

    /** Notifications and answers: nothing comes back but that they were taken. */
    private CompletionStage<Void> handOver(Exchange exchange, Session session, List<Envelope> messages) {
        CompletionStage<Void> all = CompletableFuture.completedFuture(null);
        for (Envelope message : messages) {
            CompletionStage<Void> taken = handOver(exchange, session, message);
            all = all.thenCompose(before -> taken);
        }
        return all;
    }

    private CompletionStage<Void> handOver(Exchange exchange, Session session, Envelope message) {
        CompletionStage<Void> done = CompletableFuture.completedFuture(null);
        if (message.kind() != Envelope.Kind.NOTIFICATION) {
            if (message.id().isEmpty() || !session.answer(message.inbound(exchange.context()))) {
                log.debug("session {}: an answer that nobody waits for was dropped", session.shortId());
            }
            return done;
        }
        if (message.method().equals(CANCELLED)) {
            message.cancelledRequest().ifPresent(id -> session.cancel(id, message.inbound(exchange.context())));
            return done;
        }
        return session.notify(message.inbound(exchange.context()));
    }

    /** Nothing of a batch is done whose requests are refused. */
    private void call(Exchange exchange, Session session, List<Envelope> requests, List<Envelope> others) {
        List<InboundMessage> messages =
                requests.stream().map(r -> r.inbound(exchange.context())).toList();
        Optional<RequestId> id = requests.size() == 1 ? requests.get(0).id() : Optional.empty();
        when(exchange, session.call(messages), id, (at, outcome) -> {
            if (outcome instanceof Call.Accepted accepted) {
                handOver(exchange, session, others)
                        .whenComplete((done, failure) -> run(exchange, session, accepted.call()));
            } else if (outcome instanceof Call.Duplicate duplicate) {
                exchange.reply(Rejection.badRequest("a request with id " + duplicate.id() + " is in flight already")
                        .to(Optional.of(duplicate.id())));
            } else if (outcome instanceof Call.TooMany tooMany) {
                exchange.reply(Rejection.busy(429, "more than " + tooMany.limit() + " calls of this session run")
                        .to(id));
            } else if (outcome instanceof Call.JournalFull) {
                exchange.reply(Rejection.of(429, JsonRpc.SERVER_ERROR, "this session has too many subscriptions")
                        .to(id));
            } else if (outcome instanceof Call.Closed closed) {
                exchange.reply(closed.reason(), id);
            }
        });
    }

    /** The stream is there before the backend is called, so that it can be ended on request from the first moment on. */
    private void run(Exchange exchange, Session session, Call call) {
        Framing framing = new Era(session.revision());
        Optional<SseConnection> connection =
                exchange.stream(SseConnection.Source.call(call.reader().orElseThrow(), framing), clock);
        call.dispatch();
        connection.ifPresent(SseConnection::start);
    }

    /** Goes on when a stage is complete: at once if it is, else on the thread that completes it. */
    private static <T> void when(
            Exchange exchange, CompletionStage<T> stage, Optional<RequestId> id, BiConsumer<Exchange, T> then) {
        if (!stage.toCompletableFuture().isDone()) {
            exchange.defer();
        }
        stage.whenComplete((value, failure) -> {
            if (failure == null) {
                guarded(exchange, id, () -> then.accept(exchange, value));
            } else if (unavailable(failure)) {
                exchange.reply(Rejection.busy(503, "the session store is not available")
                        .to(id));
            } else {
                exchange.fail(id, failure);
            }
        });
    }

    private static void guarded(Exchange exchange, Optional<RequestId> id, Runnable action) {
        try {
            action.run();
        } catch (RuntimeException e) {
            exchange.fail(id, e);
        }
    }

    private static boolean unavailable(Throwable failure) {
        return failure instanceof StoreUnavailableException || failure.getCause() instanceof StoreUnavailableException;
    }
}
