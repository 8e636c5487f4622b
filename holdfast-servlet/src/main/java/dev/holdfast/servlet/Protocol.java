package dev.holdfast.servlet;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.Call;
import dev.holdfast.Finding;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.Unavailable;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.guard.RequestGuard;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.NextStep;
import dev.holdfast.servlet.io.Faults;
import dev.holdfast.servlet.sse.Framing;
import dev.holdfast.servlet.sse.PeerProof;
import dev.holdfast.servlet.sse.SseChannel;
import dev.holdfast.servlet.sse.SseConnection;
import dev.holdfast.servlet.sse.SseConnections;
import dev.holdfast.spi.InboundMessage;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One wire protocol under which an engine is served. What both have in common is here, in the order of a POST's life: its session is found
 * by its head, its body is read and parsed once, and what it asks for is done: a session is opened, a call is started, or messages are
 * handed over.
 */
abstract class Protocol {
    private static final Logger log = LoggerFactory.getLogger(Protocol.class);
    private static final String INITIALIZE = "initialize";
    private static final String CANCELLED = "notifications/cancelled";
    /** The whole id is a credential. */
    private static final int SHOWN_OF_ID = 8;
    /** For so long a session that was found has surely not left memory. */
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final CompletionStage<Optional<Refusal>> TAKEN = CompletableFuture.completedFuture(Optional.empty());

    final SessionEngine engine;
    final EdgeOptions options;
    final RequestGuard guard;
    private final SseConnections connections;
    private final Rejection missing;
    private final Rejection absent;
    private final EnvelopeReader envelopes = new EnvelopeReader();

    /**
     * A protocol.
     *
     * @param missing what a request is told that names no session
     * @param absent what one is told whose session is not there
     */
    Protocol(
            SessionEngine engine,
            EdgeOptions options,
            SseConnections connections,
            Rejection missing,
            Rejection absent) {
        this.engine = engine;
        this.options = options;
        this.connections = connections;
        this.guard = new RequestGuard(options.maxRequestSize());
        this.missing = missing;
        this.absent = absent;
    }

    /** The methods that the path of a request takes, as a header names them. */
    abstract String methods(HttpServletRequest request);

    /** Adds the headers of all its answers, those to rejected requests too. */
    abstract void prepare(HttpServletResponse response);

    /** Handles a request that {@link AccessCheck} has let in: returns the first step. */
    abstract NextStep serve(Exchange exchange);

    /** Where a request names its session. */
    abstract Optional<String> sessionId(Exchange exchange);

    /** Whether a session is one of this protocol. */
    abstract boolean owns(Session session);

    /** Whether a POST of {@code initialize} opens a session, whatever session it names; else it is a call in an open one. */
    abstract boolean opens();

    /** Opens a session by {@code initialize} and answers the POST. */
    abstract NextStep open(Exchange exchange, Envelope initialize);

    /** Goes on with the session that a POST is for, if its client can get what comes of it. */
    abstract NextStep reach(Exchange exchange, Session session, Function<Session, NextStep> then);

    /** Answers the POST of a call that was taken, and hands the call to the backend. */
    abstract NextStep run(Exchange exchange, Session session, Call call, List<InboundMessage> requests);

    /** Ends what it runs by itself. */
    abstract void stop();

    /** A session, and when it was found. */
    private record Found(Session session, long at) {}

    /** What a POST asks for: a call of requests, and other messages to be handed over; or, if it begins a session, its one request. */
    private record Plan(List<Envelope> requests, List<Envelope> others, boolean batch, boolean begins) {}

    /**
     * Reads a POST and does what it asks for. What its headers rule out is told with the id of its request, and not to an
     * {@code initialize}, which begins anew whatever revision or session they name.
     */
    final NextStep post(Exchange exchange) {
        exchange.takeContext(options.context());
        Optional<Rejection> revision = RequestGuard.checkRevision(exchange.headers());
        Optional<String> named = sessionId(exchange);
        if (revision.isPresent() || named.isEmpty()) {
            // a client of another era is told so before anything is said of its session
            return exchange.read(body -> parse(exchange, body, revision, Optional.empty()));
        }
        // the backend may have to be called on this thread
        exchange.staysOnThread(engine.executesImmediately());
        return exchange.when(engine.find(named.get(), exchange.principal()), finding -> {
            Optional<Session> session = session(finding);
            if (session.isPresent()) {
                Found found = new Found(session.get(), now());
                return exchange.read(body -> parse(exchange, body, Optional.empty(), Optional.of(found)));
            }
            // no backend is called for it, and its body may be slow
            exchange.staysOnThread(false);
            Rejection gone = absent(finding, named.get());
            boolean rulesOutAll = !opens() || gone.refusal() == Refusal.DRAINING;
            return rulesOutAll
                    ? exchange.turnAway(gone)
                    : exchange.read(body -> parse(exchange, body, Optional.of(gone), Optional.empty()));
        });
    }

    private long now() {
        return engine.clock().getAsLong();
    }

    /**
     * Parses a body and begins with what it asks for.
     *
     * @param ruledOut why nothing but {@code initialize} is served
     */
    private NextStep parse(Exchange exchange, byte[] body, Optional<Rejection> ruledOut, Optional<Found> found) {
        EnvelopeReader.Parsed parsed = envelopes.read(body);
        if (parsed instanceof EnvelopeReader.Malformed malformed) {
            return exchange.reply(Rejection.of(Refusal.MALFORMED, 400, malformed.code(), malformed.message())
                    .to(malformed.id()));
        }
        List<Envelope> messages = parsed instanceof EnvelopeReader.Batch batch
                ? batch.messages()
                : List.of(((EnvelopeReader.Single) parsed).message());
        Plan plan = plan(messages, parsed instanceof EnvelopeReader.Batch);
        if (!plan.batch) {
            exchange.about(messages.get(0).id());
        }
        int tokens = 0;
        for (Envelope message : messages) {
            tokens += message.tokens();
            Optional<Rejection> unserved = plan.begins
                    ? Optional.empty()
                    : RequestGuard.checkRevision(message).or(() -> ruledOut);
            if (unserved.isPresent()) {
                return exchange.reply(unserved.get().to(message.id()));
            }
        }
        Optional<Rejection> room = exchange.memory().handle(body.length, tokens);
        if (room.isPresent()) {
            return exchange.reply(
                    messages.size() == 1 ? room.get().to(messages.get(0).id()) : room.get());
        }
        return begin(exchange, plan, messages, found);
    }

    private static Plan plan(List<Envelope> messages, boolean batch) {
        if (messages.size() == 1) {
            boolean request = messages.get(0).kind() == Envelope.Kind.REQUEST;
            boolean begins = request && !batch && messages.get(0).method().equals(INITIALIZE);
            return new Plan(request ? messages : List.of(), request ? List.of() : messages, batch, begins);
        }
        List<Envelope> requests = new ArrayList<>();
        List<Envelope> others = new ArrayList<>();
        messages.forEach(message -> (message.kind() == Envelope.Kind.REQUEST ? requests : others).add(message));
        return new Plan(requests, others, batch, false);
    }

    private NextStep begin(Exchange exchange, Plan plan, List<Envelope> messages, Optional<Found> found) {
        if (plan.begins && opens()) {
            return open(exchange, messages.get(0));
        }
        for (Envelope message : plan.batch ? messages : List.<Envelope>of()) {
            if (message.method().equals(INITIALIZE)) {
                return exchange.reply(Rejection.malformed("initialize must not be part of a batch")
                        .to(message.id()));
            }
        }
        if (found.isPresent() && now() - found.get().at < FRESH_NANOS && owns(found.get().session)) {
            return reach(exchange, found.get().session, session -> carryOut(exchange, session, plan));
        }
        return find(exchange, session -> reach(exchange, session, there -> carryOut(exchange, there, plan)));
    }

    /** What a request is told that names no session. */
    final Rejection missing() {
        return missing;
    }

    /** Finds the session that a request names, and goes on with it; if there is none, the request is answered. */
    final NextStep find(Exchange exchange, Function<Session, NextStep> then) {
        Optional<String> named = sessionId(exchange);
        if (named.isEmpty()) {
            return exchange.reply(missing);
        }
        return exchange.when(engine.find(named.get(), exchange.principal()), finding -> {
            Optional<Session> session = session(finding);
            return session.isPresent() ? then.apply(session.get()) : exchange.reply(absent(finding, named.get()));
        });
    }

    /** The session that was found, if it is one of this protocol. */
    final Optional<Session> session(Finding finding) {
        return finding instanceof Finding.Found found && owns(found.session())
                ? Optional.of(found.session())
                : Optional.empty();
    }

    private Rejection absent(Finding finding, String id) {
        return finding instanceof Unavailable unavailable ? Rejection.of(unavailable.reason()) : unknown(id);
    }

    /** What a client is told whose session is not there. */
    final Rejection unknown(String id) {
        Rejection rejection = engine.draining() ? Rejection.of(Refusal.DRAINING) : absent;
        String start = id.substring(0, Math.min(id.length(), SHOWN_OF_ID));
        return rejection.because(rejection.refusal().text() + ": session " + Rejection.quote(start));
    }

    private NextStep carryOut(Exchange exchange, Session session, Plan plan) {
        if (plan.batch && !RequestGuard.batches(session.revision())) {
            return exchange.reply(Rejection.malformed(
                    "revision " + session.revision() + " has no batches: POST one message at a time"));
        }
        if (!plan.requests.isEmpty()) {
            return call(exchange, session, plan);
        }
        return exchange.when(
                handOver(session, plan.others, exchange.context()),
                refusal -> refusal.isPresent() ? exchange.reply(Rejection.of(refusal.get())) : exchange.status(202));
    }

    /** Opens a call and hands over the other messages of the batch; if a request is refused, nothing of its batch is done. */
    private NextStep call(Exchange exchange, Session session, Plan plan) {
        List<InboundMessage> requests = new ArrayList<>(plan.requests.size());
        for (Envelope request : plan.requests) {
            requests.add(request.inbound(exchange.context()));
        }
        exchange.about(requests.size() == 1 ? plan.requests.get(0).id() : Optional.empty());
        return exchange.when(
                session.call(requests),
                outcome -> {
                    if (outcome instanceof Call.Accepted accepted) {
                        accepted.call().whenOver(exchange.memory().use());
                        return accepted(exchange, session, accepted, requests, plan.others);
                    } else if (outcome instanceof Call.Duplicate duplicate) {
                        return exchange.reply(Rejection.badRequest(
                                        Refusal.DUPLICATE_ID,
                                        "a request with id " + duplicate.id() + " is in flight already")
                                .to(Optional.of(duplicate.id())));
                    } else if (outcome instanceof Call.Refused refused) {
                        return exchange.reply(Rejection.of(refused.reason()));
                    } else if (outcome instanceof Call.Closed closed) {
                        return exchange.reply(closed.reason());
                    }
                    // over HTTP+SSE nobody reads an answer here but for its status
                    return session.listensOnly()
                            ? exchange.json(500, undecided(requests))
                            : exchange.message(undecided(requests));
                },
                outcome -> orphaned(exchange, outcome));
    }

    /** The answer to requests of which nobody knows whether they run. */
    private static byte[] undecided(List<InboundMessage> requests) {
        List<String> errors = requests.stream()
                .map(request -> JsonRpc.errorBody(
                        Optional.of(request.requiredId()), JsonRpc.INTERNAL_ERROR, Call.Undecided.TEXT))
                .map(error -> new String(error, UTF_8))
                .toList();
        return (errors.size() == 1 ? errors.get(0) : errors.toString()).getBytes(UTF_8);
    }

    /** A call that was taken runs, whatever becomes of the messages that came with it. */
    private NextStep accepted(
            Exchange exchange,
            Session session,
            Call.Accepted accepted,
            List<InboundMessage> requests,
            List<Envelope> others) {
        if (others.isEmpty()) {
            return run(exchange, session, accepted.call(), requests);
        }
        CompletionStage<Optional<Refusal>> handed;
        try {
            handed = handOver(session, others, exchange.context());
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
        return exchange.when(
                ready,
                outcome -> run(exchange, session, accepted.call(), requests),
                outcome -> orphaned(exchange, outcome));
    }

    /** Dispatches a call whose client has left before its answer began: that does not cancel the call. */
    private static boolean orphaned(Exchange exchange, Call.Outcome outcome) {
        if (!(outcome instanceof Call.Accepted accepted)) {
            return outcome instanceof Call.Undecided;
        }
        Call call = accepted.call();
        call.whenOver(exchange.memory().use());
        call.reader().ifPresent(reader -> reader.close(StreamReader.Close.BROKEN));
        // this may run a handler to its end, and the thread may be one of the store or the engine
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

    /**
     * Hands notifications and answers to a session; completes when all are handed over, with the reason why the first refused one was
     * refused, or empty if none was.
     */
    private static CompletionStage<Optional<Refusal>> handOver(
            Session session, List<Envelope> messages, Object context) {
        CompletionStage<Optional<Refusal>> all = TAKEN;
        try {
            for (Envelope message : messages) {
                CompletionStage<Optional<Refusal>> taken = handOver(session, message, context);
                all = all == TAKEN ? taken : all.thenCombine(taken, (before, now) -> before.isPresent() ? before : now);
            }
        } finally {
            // a handler that has waited for an answer may have gone on here, and its interrupt is not for the thread's
            // owner
            boolean unused = Thread.interrupted();
        }
        return all;
    }

    private static CompletionStage<Optional<Refusal>> handOver(Session session, Envelope message, Object context) {
        if (message.method().equals(CANCELLED)) {
            return message.cancelledRequest()
                    .map(id ->
                            session.cancel(id, message.inbound(context)).thenApply(done -> Optional.<Refusal>empty()))
                    .orElse(TAKEN);
        }
        if (message.kind() == Envelope.Kind.NOTIFICATION) {
            return session.notify(message.inbound(context));
        }
        // an error without an id answers nobody's question
        CompletionStage<Boolean> awaited = message.id().isEmpty()
                ? CompletableFuture.completedFuture(false)
                : session.answer(message.inbound(context));
        return awaited.thenApply(taken -> {
            if (!taken) {
                log.debug("session {}: an answer that nobody waits for was dropped", session.shortId());
            }
            return Optional.empty();
        });
    }

    /**
     * Opens a connection that is not started yet; empty if that failed: then the reader is closed and the request ended. See {@link
     * SseConnection} for what it takes.
     */
    final Optional<SseConnection> stream(
            Exchange exchange,
            StreamReader reader,
            Supplier<Framing> framings,
            @Nullable Runnable refusal,
            @Nullable PeerProof proof) {
        Optional<SseConnection> opened = Optional.empty();
        HttpServletRequest request = exchange.request();
        try {
            Framing framing = framings.get();
            SseChannel channel = new SseChannel(
                    request,
                    exchange.response(),
                    framing.contentType(),
                    options.connectionReset().of(request),
                    connections.helpers,
                    connections.blocking);
            SseConnection connection = new SseConnection(channel, reader, framing, connections, refusal, proof);
            opened = Optional.of(connection);
            connection.open();
            if (request.getMethod().equals("GET")) {
                options.peerWatch().watch(request, connection::onBroken);
            }
            return opened;
        } catch (Throwable e) {
            if (opened.isPresent()) {
                // other threads may write to the response by now
                Faults.report(log, "a connection broke before its response began", e);
                opened.get().abort();
                return Optional.empty();
            }
            reader.close(StreamReader.Close.BROKEN);
            if (e instanceof IOException || e instanceof IllegalStateException) {
                Faults.report(log, "a connection broke before its response began", e);
                exchange.end();
            } else {
                exchange.fail(e);
            }
            return Optional.empty();
        }
    }
}
