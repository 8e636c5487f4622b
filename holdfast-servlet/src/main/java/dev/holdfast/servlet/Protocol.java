package dev.holdfast.servlet;

import static dev.holdfast.servlet.guard.RequestHeaders.header;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.partitioningBy;

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
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
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
    /** A session that was found less than this ago cannot have left memory. */
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final CompletionStage<Optional<Refusal>> TAKEN = CompletableFuture.completedFuture(Optional.empty());

    final SessionEngine engine;
    final EdgeOptions options;
    final RequestGuard guard;
    /** What a request is told that names no session. */
    final Rejection missing;

    private final SseConnections connections;
    private final Rejection absent;
    private final LongSupplier clock;
    private final Function<HttpServletRequest, Object> context;
    private final ConnectionReset connectionReset;
    private final Optional<ModernHttp> modern;
    private final boolean modernOnly;
    private final EnvelopeReader envelopes = new EnvelopeReader();

    /**
     * A protocol.
     *
     * @param missing what a request is told that names no session
     * @param absent what one is told whose session is not there
     * @param stateless whether requests of revisions without sessions are served too
     */
    Protocol(
            SessionEngine engine,
            EdgeOptions options,
            SseConnections connections,
            Rejection missing,
            Rejection absent,
            boolean stateless) {
        this.engine = engine;
        this.options = options;
        this.guard = new RequestGuard(options.maxRequestSize());
        this.missing = missing;
        this.connections = connections;
        this.absent = absent;
        this.clock = engine.clock();
        this.context = options.context();
        this.connectionReset = options.connectionReset();
        this.modern = stateless ? Optional.of(new ModernHttp(this)) : Optional.empty();
        this.modernOnly = options.protocols() == Protocols.MODERN;
    }

    /** The methods that the path of a request takes, as a header names them. */
    abstract String methods(HttpServletRequest request);

    /** Adds the headers of all its answers, those to rejected requests too: none. */
    void prepare(HttpServletResponse response) {}

    /** Handles a request that the endpoint has let in: returns the first step. */
    abstract NextStep serve(Exchange exchange);

    /** Where a request names its session. */
    abstract Optional<String> sessionId(HttpServletRequest request);

    /** Whether a session is one of this protocol. */
    abstract boolean owns(Session session);

    /** Whether a POST of {@code initialize} opens a session, whatever session it names; else it is a call in an open one. */
    abstract boolean opens();

    /** Opens a session by {@code initialize} and answers the POST. */
    abstract NextStep open(Exchange exchange, Envelope initialize);

    /** Whether the client of a session is there to get what comes of a POST; empty where that needs no proof. */
    Optional<CompletionStage<Boolean>> reachable(Session session) {
        return Optional.empty();
    }

    /**
     * Answers the POST of a call that was taken, and hands the call to the backend.
     *
     * @param batch whether its requests came as a batch, be it of one
     */
    abstract NextStep run(Exchange exchange, Session session, Call call, List<InboundMessage> requests, boolean batch);

    /** Begins what it does by itself; called once, before the first request. */
    final void start() {
        modern.ifPresent(ModernHttp::start);
    }

    /** The backend is another for what begins. */
    final void renew() {
        modern.ifPresent(ModernHttp::renew);
    }

    /** Ends what it does by itself. */
    void stop() {
        modern.ifPresent(ModernHttp::stop);
    }

    /** Whether a request is one of a revision without sessions, by its headers, and such are served. */
    final boolean stateless(HttpServletRequest request) {
        return modern.isPresent() && (modernOnly || RequestGuard.isStateless(request));
    }

    /**
     * Reads a POST and does what it asks for. What its headers rule out is told with the id of its request, and not to an
     * {@code initialize}, which begins anew whatever revision or session they name.
     */
    final NextStep post(Exchange exchange) {
        HttpServletRequest request = exchange.request();
        exchange.context(context.apply(request));
        boolean stateless = stateless(request);
        Post post = new Post(exchange, stateless, RequestGuard.checkRevision(request));
        Optional<String> named = sessionId(request);
        exchange.staysOnThread(stateless && engine.executesImmediately());
        if (stateless || post.ruledOut.isPresent() || named.isEmpty()) {
            // a client of another era is told so before anything is said of its session
            return exchange.read(post::parse);
        }
        // the backend may have to be called on this thread
        exchange.staysOnThread(engine.executesImmediately());
        return exchange.when(
                engine.find(named.get(), exchange.principal()), finding -> post.found(finding, named.get()));
    }

    /** One POST on its way: a call of requests, other messages to be handed over, or one request that begins a session. */
    private final class Post {
        private final Exchange exchange;
        /** Whether its headers name a revision without sessions. */
        private final boolean stateless;
        /** Why nothing but {@code initialize} is served. */
        private Optional<Rejection> ruledOut;

        private Optional<Session> session = Optional.empty();
        /** When the session was found. */
        private long foundAt;

        private boolean batch;
        private List<Envelope> requests = List.of();
        private List<Envelope> others = List.of();

        private Post(Exchange exchange, boolean stateless, Optional<Rejection> ruledOut) {
            this.exchange = exchange;
            this.stateless = stateless;
            this.ruledOut = ruledOut;
        }

        /** Reads the body, unless the missing session rules out whatever it says. */
        private NextStep found(Finding finding, String id) {
            session = session(finding);
            if (session.isEmpty()) {
                // no backend is called for it, and its body may be slow
                exchange.staysOnThread(false);
                Rejection gone = absent(finding, id);
                if (!opens() || gone.refusal() == Refusal.DRAINING) {
                    return exchange.turnAway(gone);
                }
                ruledOut = Optional.of(gone);
            }
            foundAt = clock.getAsLong();
            return exchange.read(this::parse);
        }

        /** Parses the body and begins with what it asks for. */
        private NextStep parse(byte[] body) {
            EnvelopeReader.Parsed parsed = envelopes.read(body);
            if (parsed instanceof EnvelopeReader.Malformed malformed) {
                return exchange.reply(Rejection.of(Refusal.MALFORMED, 400, malformed.code(), malformed.message())
                        .to(malformed.id()));
            }
            batch = parsed instanceof EnvelopeReader.Batch;
            List<Envelope> messages = parsed instanceof EnvelopeReader.Batch several
                    ? several.messages()
                    : List.of(((EnvelopeReader.Single) parsed).message());
            Envelope first = messages.get(0);
            boolean request = first.kind() == Envelope.Kind.REQUEST;
            boolean begins = !batch && request && first.method().equals(INITIALIZE);
            boolean named = stateless || first.modernVersion().isPresent();
            if (modern.isPresent() && named && (modernOnly || !fallsBack(first, begins))) {
                return modern.get().take(exchange, parsed, body.length);
            }
            if (!batch) {
                exchange.about(first.id());
            }
            int tokens = 0;
            for (Envelope message : messages) {
                tokens += message.tokens();
                Optional<Rejection> modern = RequestGuard.checkRevision(message);
                Optional<Rejection> unserved = modern.isPresent() ? modern : ruledOut;
                if (!begins && unserved.isPresent()) {
                    return exchange.reply(unserved.get().to(message.id()));
                }
            }
            Optional<Rejection> full = exchange.body().handle(body.length, tokens);
            if (full.isPresent()) {
                return exchange.reply(messages.size() == 1 ? full.get().to(first.id()) : full.get());
            }
            if (begins && opens()) {
                return open(exchange, first);
            }
            if (messages.size() == 1) {
                requests = request ? messages : List.of();
                others = request ? List.of() : messages;
            } else {
                Map<Boolean, List<Envelope>> sorted =
                        messages.stream().collect(partitioningBy(each -> each.kind() == Envelope.Kind.REQUEST));
                requests = sorted.getOrDefault(true, List.of());
                others = sorted.getOrDefault(false, List.of());
            }
            for (Envelope message : batch ? messages : List.<Envelope>of()) {
                if (message.method().equals(INITIALIZE)) {
                    return exchange.reply(Rejection.malformed("initialize must not be part of a batch")
                            .to(message.id()));
                }
            }
            if (session.isPresent() && clock.getAsLong() - foundAt < FRESH_NANOS && owns(session.get())) {
                return reach(session.get());
            }
            return find(exchange, this::reach);
        }

        /**
         * Whether a message that names a stateless revision is for a session all the same. Whoever initializes one names the revision for
         * that, whatever else names one. And a client that asks which revisions there are, without the headers of its request, is behind a
         * bridge that knows no stateless one: it is told to initialize a session.
         */
        private boolean fallsBack(Envelope message, boolean begins) {
            boolean bridged = !stateless
                    && message.method().equals(ModernHttp.DISCOVER)
                    && header(exchange.request(), "Mcp-Method").isEmpty();
            return bridged || (begins && message.protocolVersion().isPresent());
        }

        /** Goes on if the client can get what comes of it. */
        private NextStep reach(Session there) {
            Optional<CompletionStage<Boolean>> reachable = reachable(there);
            return reachable.isEmpty()
                    ? carryOut(there)
                    : exchange.when(
                            reachable.get(),
                            reached -> reached ? carryOut(there) : exchange.reply(unknown(there.id())));
        }

        private NextStep carryOut(Session there) {
            if (batch && !RequestGuard.batches(there.revision())) {
                return exchange.reply(Rejection.malformed(
                        "revision " + there.revision() + " has no batches: POST one message at a time"));
            }
            if (requests.isEmpty()) {
                return exchange.when(
                        handOver(there, others, exchange.context()),
                        refusal -> refusal.isPresent()
                                ? exchange.reply(Rejection.of(refusal.get()))
                                : exchange.status(202));
            }
            List<InboundMessage> inbound = new ArrayList<>(requests.size());
            for (Envelope request : requests) {
                inbound.add(request.inbound(exchange.context()));
            }
            if (batch && requests.size() == 1) {
                exchange.about(requests.get(0).id());
            }
            // if a request is refused, nothing of its batch is done
            return exchange.when(there.call(inbound), outcome -> called(there, inbound, outcome), outcome -> {
                if (outcome instanceof Call.Accepted accepted) {
                    accepted.call().whenOver(exchange.body().use());
                    orphaned(there, accepted.call());
                    return true;
                }
                return outcome instanceof Call.Undecided;
            });
        }

        private NextStep called(Session there, List<InboundMessage> inbound, Call.Outcome outcome) {
            if (outcome instanceof Call.Accepted accepted) {
                Call call = accepted.call();
                call.whenOver(exchange.body().use());
                return others.isEmpty()
                        ? run(exchange, there, call, inbound, batch)
                        : handOverFirst(there, call, inbound);
            } else if (outcome instanceof Call.Duplicate duplicate) {
                return exchange.reply(Rejection.badRequest(
                                Refusal.DUPLICATE_ID, "a request with id " + duplicate.id() + " is in flight already")
                        .to(Optional.of(duplicate.id())));
            } else if (outcome instanceof Call.Refused refused) {
                return exchange.reply(Rejection.of(refused.reason()));
            } else if (outcome instanceof Call.Closed closed) {
                return exchange.reply(closed.reason());
            }
            byte[] answer = errors(inbound, batch, Call.Undecided.TEXT);
            // over HTTP+SSE nobody reads an answer here but for its status
            return there.listensOnly() ? exchange.json(500, answer) : exchange.message(answer);
        }

        /** Hands over the other messages of the batch. A call that was taken runs, whatever becomes of them. */
        private NextStep handOverFirst(Session there, Call call, List<InboundMessage> inbound) {
            CompletionStage<Optional<Refusal>> handed;
            try {
                handed = handOver(there, others, exchange.context());
            } catch (Throwable e) {
                handed = CompletableFuture.failedFuture(e);
            }
            CompletionStage<Call> ready = handed.handle((refusal, failure) -> {
                if (failure != null || refusal.isPresent()) {
                    Object why = failure == null ? refusal.map(Refusal::text).orElse("") : failure;
                    log.warn("session {}: a batch was not handed over whole: {}", there.shortId(), why.toString());
                }
                return call;
            });
            return exchange.when(ready, taken -> run(exchange, there, taken, inbound, true), taken -> {
                orphaned(there, taken);
                return true;
            });
        }
    }

    /** Dispatches a call whose client has left before its answer began: that does not cancel the call. */
    private static void orphaned(Session session, Call call) {
        call.reader().ifPresent(reader -> reader.close(StreamReader.Close.BROKEN));
        // this may run a handler to its end, and the thread may be one of the store or the engine
        Thread thread = new Thread(() -> dispatch(session, call), "holdfast-orphan");
        thread.setDaemon(true);
        try {
            thread.start();
        } catch (OutOfMemoryError e) {
            dispatch(session, call);
        }
    }

    private static void dispatch(Session session, Call call) {
        try {
            call.dispatch();
        } catch (Throwable e) {
            log.error("session {}: a call could not be handed over", session.shortId(), e);
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

    /** Finds the session that a request names, and goes on with it; if there is none, the request is answered. */
    final NextStep find(Exchange exchange, Function<Session, NextStep> then) {
        Optional<String> named = sessionId(exchange.request());
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

    /** Hands a call to its backend, then lets its connection write; both on the thread of the request. */
    static NextStep dispatched(Exchange exchange, Session session, Call call, Optional<SseConnection> connection) {
        return () -> {
            try {
                exchange.dispatch(call);
            } catch (Throwable e) {
                log.error("session {}: a call could not be handed over", session.shortId(), e);
                connection.ifPresent(SseConnection::abort);
            }
            connection.ifPresent(SseConnection::start);
            return NextStep.DONE;
        };
    }

    /** An error for each of these requests: nobody knows whether it has run, so that nobody may be told to send it again. */
    static byte[] errors(List<InboundMessage> requests, boolean batch, String text) {
        List<String> errors = requests.stream()
                .map(request -> JsonRpc.errorBody(Optional.of(request.requiredId()), JsonRpc.INTERNAL_ERROR, text))
                .map(error -> new String(error, UTF_8))
                .toList();
        return (batch ? errors.toString() : errors.get(0)).getBytes(UTF_8);
    }

    /**
     * Opens a connection that is not started yet; empty if that failed: then the reader is closed and the request ended. See {@link
     * SseConnection} for what it takes.
     */
    final Optional<SseConnection> stream(
            Exchange exchange,
            StreamReader reader,
            Supplier<Framing> framings,
            @Nullable Runnable unstored,
            @Nullable PeerProof proof) {
        Optional<SseConnection> opened = Optional.empty();
        HttpServletRequest request = exchange.request();
        try {
            Framing framing = framings.get();
            SseChannel channel = new SseChannel(
                    request,
                    exchange.response(),
                    framing,
                    connectionReset.of(request),
                    connections.helpers,
                    connections.blocking);
            SseConnection connection = new SseConnection(channel, reader, framing, connections, unstored, proof);
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
