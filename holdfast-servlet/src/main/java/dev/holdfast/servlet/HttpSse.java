package dev.holdfast.servlet;

import static dev.holdfast.servlet.guard.RequestHeaders.header;

import dev.holdfast.Call;
import dev.holdfast.EventId;
import dev.holdfast.Lifetime;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.Unavailable;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.guard.RequestGuard;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.NextStep;
import dev.holdfast.servlet.io.BlockingPool;
import dev.holdfast.servlet.io.EdgeClock;
import dev.holdfast.servlet.io.Faults;
import dev.holdfast.servlet.sse.Framing;
import dev.holdfast.servlet.sse.PeerProof;
import dev.holdfast.servlet.sse.SseConnection;
import dev.holdfast.servlet.sse.SseConnections;
import dev.holdfast.servlet.sse.SseFraming;
import dev.holdfast.spi.InboundMessage;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * HTTP+SSE: a GET opens a session and stays its one stream, POSTs to the path that it names are answered 202, and their results
 * come by the GET.
 *
 * <p>Without a grace period a session ends with its GET, and a POST to an ended session gets 404. No container tells that an
 * idle peer has left, so a POST is taken only if the peer took bytes just now, or is found to take them.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse">MCP transports, HTTP
 *     with SSE</a>
 */
final class HttpSse extends Protocol {
    private static final Logger log = LoggerFactory.getLogger(HttpSse.class);
    private static final long ACCEPT_AFTER_MILLIS = 50;
    private static final int MAX_WAITING = 256;

    private final HttpSseOptions sse;
    private final EdgeClock clock;
    private final Lifetime lifetime;
    /** Whether sessions end with their connections: else nothing is known of peers, and nothing needed. */
    private final boolean ephemeral;
    /** What proves that the peer of a session is there, by session id. */
    private final Map<String, PeerProof> proofs = new ConcurrentHashMap<>();

    private final BlockingPool early = new BlockingPool("holdfast-accept", MAX_WAITING);

    HttpSse(
            SessionEngine engine,
            EdgeOptions options,
            HttpSseOptions sse,
            SseConnections connections,
            EdgeClock clock) {
        super(
                engine,
                options,
                connections,
                Rejection.malformed("the sessionId parameter is missing"),
                absent(engine, sse),
                false);
        this.sse = sse;
        this.clock = clock;
        this.ephemeral = sse.reconnectGrace().isZero();
        Lifetime graced = options.lifetime().withGrace(sse.reconnectGrace());
        // the grace period after a connection that broke holds for one that ended in order too
        this.lifetime = ephemeral ? graced : graced.withIdle(sse.reconnectGrace());
    }

    /** A session that ends with its stream is on the node of the stream alone, where others may get its messages. */
    private static Rejection absent(SessionEngine engine, HttpSseOptions sse) {
        if (!sse.reconnectGrace().isZero() || !engine.sharesSessions()) {
            return Rejection.of(Refusal.UNKNOWN_SESSION);
        }
        log.info("over HTTP+SSE only the node of a session's stream serves it: set a reconnect grace period for"
                + " HTTP+SSE (--sse-reconnect-grace, holdfast.sse.reconnect-grace-period) to serve it on each node");
        return Rejection.of(
                Refusal.UNKNOWN_SESSION,
                404,
                JsonRpc.SESSION_NOT_FOUND,
                "session not found: over HTTP+SSE only the node of its stream has it; open a new stream");
    }

    /** Whether a request is for one of the two paths of this protocol. */
    boolean serves(HttpServletRequest request) {
        String path = Exchange.path(request);
        return path.endsWith(sse.path()) || path.endsWith(sse.messagePath());
    }

    @Override
    String methods(HttpServletRequest request) {
        return listens(request) ? "GET" : "POST";
    }

    private boolean listens(HttpServletRequest request) {
        return Exchange.path(request).endsWith(sse.path());
    }

    /** The URL of a POST holds the session id: it must not go to other sites. */
    @Override
    void prepare(HttpServletResponse response) {
        response.setHeader("Referrer-Policy", "no-referrer");
    }

    @Override
    Optional<String> sessionId(HttpServletRequest request) {
        return Exchange.parameter(request, "sessionId");
    }

    @Override
    boolean owns(Session session) {
        return session.listensOnly() && (!ephemeral || proofs.containsKey(session.id()));
    }

    @Override
    NextStep serve(Exchange exchange) {
        HttpServletRequest request = exchange.request();
        boolean listens = listens(request);
        Optional<Rejection> rejection = RequestGuard.checkMethod(listens ? "GET" : "POST", request)
                .or(() -> listens
                        ? guard.checkGet(request).or(() -> RequestGuard.checkRevision(request))
                        : guard.checkBody(request));
        if (rejection.isPresent()) {
            return exchange.turnAway(rejection.get());
        }
        return listens ? get(exchange) : post(exchange);
    }

    /** A GET opens a session, or comes back to one with an event id that names it. */
    private NextStep get(Exchange exchange) {
        String lastEventId =
                header(exchange.request(), "Last-Event-ID").orElse("").trim();
        int end = lastEventId.indexOf('.');
        Optional<EventId> after =
                ephemeral || end < 0 ? Optional.empty() : EventId.parse(lastEventId.substring(end + 1));
        return after.isEmpty() ? begin(exchange) : comeBack(exchange, lastEventId.substring(0, end), after.get());
    }

    /** Resumes the session; begins another if it is not there any more. */
    private NextStep comeBack(Exchange exchange, String id, EventId after) {
        return exchange.when(engine.find(id, exchange.principal()), finding -> {
            Optional<Session> session = session(finding);
            return session.isEmpty()
                    ? begin(exchange)
                    : exchange.whenAttached(
                            session.get().resume(after),
                            resume -> resume.attached()
                                    .map(reader ->
                                            listen(exchange, session.get().id(), reader))
                                    .orElseGet(() -> begin(exchange)));
        });
    }

    private NextStep begin(Exchange exchange) {
        return exchange.when(engine.open(exchange.principal(), lifetime), opening -> {
            if (opening instanceof Opening.Awaiting awaiting) {
                Session session = awaiting.session();
                return exchange.whenAttached(
                        session.listen(),
                        resume -> resume.attached()
                                .map(reader -> listen(exchange, session.id(), reader))
                                .orElseGet(() -> exchange.reply(unknown(session.id()))));
            }
            if (opening instanceof Unavailable unavailable) {
                return exchange.reply(Rejection.of(unavailable.reason()));
            }
            throw new IllegalStateException("a session that only listens was opened otherwise");
        });
    }

    private NextStep listen(Exchange exchange, String id, StreamReader reader) {
        PeerProof proof = ephemeral ? new PeerProof(clock, () -> proofs.remove(id)) : null;
        if (proof != null) {
            proofs.put(id, proof);
        }
        stream(exchange, reader, () -> framing(exchange, id, ephemeral ? "" : id), null, proof)
                .ifPresentOrElse(SseConnection::startNow, () -> proofs.remove(id));
        return NextStep.DONE;
    }

    private Framing framing(Exchange exchange, String id, String named) {
        String agent = header(exchange.request(), "User-Agent").orElse("");
        String prefix = sse.base().isEmpty() ? prefix(exchange) : sse.base();
        return SseFraming.httpSse(prefix + sse.messagePath() + "?sessionId=" + id, named, agent);
    }

    /** What a client has put before the path of its GET, as far as can be seen from here. */
    private String prefix(Exchange exchange) {
        String forwarded = header(exchange.request(), "X-Forwarded-Prefix").orElse("");
        String path = Exchange.path(exchange.request());
        String before = path.endsWith(sse.path())
                ? path.substring(0, path.length() - sse.path().length())
                : exchange.request().getContextPath();
        return Stream.of(forwarded, before).filter(HttpSseOptions::prefix).collect(Collectors.joining());
    }

    @Override
    boolean opens() {
        return false;
    }

    @Override
    NextStep open(Exchange exchange, Envelope initialize) {
        throw new IllegalStateException("the GET has opened the session: initialize is a call in it");
    }

    /** A session that ends with its stream is reachable while the peer of that takes bytes. */
    @Override
    Optional<CompletionStage<Boolean>> reachable(Session session) {
        return Optional.ofNullable(proofs.get(session.id())).map(PeerProof::ask);
    }

    /** Hands a call to the backend on this thread, and answers its POST with 202. */
    @Override
    NextStep run(Exchange exchange, Session session, Call call, List<InboundMessage> requests, boolean batch) {
        Acceptance acceptance = new Acceptance(exchange);
        try {
            clock.later(() -> early.offer(acceptance::giveEarly), ACCEPT_AFTER_MILLIS);
            try {
                exchange.dispatch(call);
            } finally {
                acceptance.give();
            }
        } catch (Throwable e) {
            log.error("session {}: a call could not be handed over", session.shortId(), e);
        } finally {
            exchange.end();
        }
        return NextStep.DONE;
    }

    /**
     * The 202 of one POST: given when its call is handed over, or, where a handler holds the thread meanwhile, after a moment by
     * another thread. Then it asks the client not to use the connection again, if that is its own: what the client sent there would wait
     * until the handler returns, and may be the very answer that the handler waits for.
     */
    private static final class Acceptance {
        private final Exchange exchange;
        private final ReentrantLock touching = new ReentrantLock();
        private boolean given;

        private Acceptance(Exchange exchange) {
            this.exchange = exchange;
        }

        /** Gives the answer if it was not given; when this returns, no other thread touches the response. */
        private void give() {
            touching.lock();
            try {
                accept();
            } finally {
                touching.unlock();
            }
        }

        /** Gives the answer while the call's handler still holds the request's thread. */
        private void giveEarly() {
            touching.lock();
            try {
                if (!given) {
                    exchange.lastOfConnection();
                    accept();
                    exchange.response().flushBuffer();
                }
            } catch (IOException | RuntimeException e) {
                Faults.report(log, "an answer could not be written", e);
            } finally {
                touching.unlock();
            }
        }

        private void accept() {
            if (!given) {
                given = true;
                exchange.response().setStatus(HttpServletResponse.SC_ACCEPTED);
                exchange.response().setContentLength(0);
            }
        }
    }

    @Override
    void stop() {
        super.stop();
        early.stop();
    }
}
