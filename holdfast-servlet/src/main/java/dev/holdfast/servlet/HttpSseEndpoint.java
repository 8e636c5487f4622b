package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.EventId;
import dev.holdfast.Lifetime;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionEngine;
import dev.holdfast.SessionEngine.Finding;
import dev.holdfast.SessionEngine.Found;
import dev.holdfast.StreamReader;
import dev.holdfast.spi.RequestId;
import jakarta.servlet.http.HttpServletRequest;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * The second face of the engine: a GET opens a session and stays its one stream, POSTs to the endpoint that it names are
 * answered 202, and their results come by the GET.
 *
 * <p>Without a grace period a session ends with its GET, and a POST to a dead one gets 404. Since no container tells that an
 * idle peer has left, a POST is taken only if the peer was seen just now, or is found there.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse">MCP transports, HTTP
 *     with SSE</a>
 */
final class HttpSseEndpoint implements PostFace {
    private final SessionEngine engine;
    private final HttpSseOptions sse;
    private final Lifetime lifetime;
    private final RequestGuard guard;
    private final ConnectionClock clock;
    private final PostHandler posts;
    /** What is known of the peers, by session; only where a session ends with its connection. */
    private final Map<String, PeerProof> peers = new ConcurrentHashMap<>();

    HttpSseEndpoint(
            SessionEngine engine, EdgeOptions options, HttpSseOptions sse, RequestGuard guard, ConnectionClock clock) {
        this.engine = engine;
        this.sse = sse;
        this.lifetime = lifetime(options, sse);
        this.guard = guard;
        this.clock = clock;
        this.posts = new PostHandler(engine, options, guard, this);
    }

    /** A connection that we ended in order waits as long as one that broke; before its first, a session waits as any other. */
    private static Lifetime lifetime(EdgeOptions options, HttpSseOptions sse) {
        Lifetime lifetime = options.lifetime().withGrace(sse.reconnectGrace());
        return sse.reconnectGrace().isZero() ? lifetime : lifetime.withIdle(sse.reconnectGrace());
    }

    /** Whether a request is for one of the two paths. */
    boolean serves(HttpServletRequest request) {
        String path = request.getRequestURI();
        return path.endsWith(sse.path()) || path.endsWith(sse.messagePath());
    }

    /** The one method that the path of a request takes. */
    String method(HttpServletRequest request) {
        return request.getRequestURI().endsWith(sse.path()) ? "GET" : "POST";
    }

    void serve(Exchange exchange, HttpServletRequest request) {
        boolean get = method(request).equals("GET");
        Optional<Rejection> rejection =
                get ? guard.checkHttpSseGet(exchange.headers()) : guard.checkHttpSsePost(exchange.headers());
        if (rejection.isPresent()) {
            exchange.turnAway(rejection.get());
        } else if (get) {
            get(exchange);
        } else {
            posts.receive(exchange);
        }
    }

    private void get(Exchange exchange) {
        String lastEventId =
                exchange.headers().header("Last-Event-ID").orElse("").trim();
        int end = lastEventId.indexOf('.');
        Optional<EventId> after =
                ephemeral() || end < 0 ? Optional.empty() : EventId.parse(lastEventId.substring(end + 1));
        if (after.isEmpty()) {
            open(exchange);
            return;
        }
        exchange.when(engine.find(lastEventId.substring(0, end), exchange.principal()), Optional.empty(), finding -> {
            Optional<Session> session = session(finding);
            if (session.isEmpty()) {
                open(exchange);
                return;
            }
            exchange.whenAttached(session.get().resume(after.get()), resume -> {
                if (!attach(exchange, session.get(), resume)) {
                    open(exchange);
                }
            });
        });
    }

    private void open(Exchange exchange) {
        exchange.when(engine.open(exchange.principal(), lifetime), Optional.empty(), opening -> {
            if (opening instanceof SessionEngine.Awaiting awaiting) {
                begin(exchange, awaiting.session());
            } else if (opening instanceof SessionEngine.Unavailable unavailable) {
                exchange.reply(Rejection.of(unavailable.reason()));
            }
        });
    }

    private void begin(Exchange exchange, Session session) {
        exchange.whenAttached(session.listen(), resume -> {
            if (!attach(exchange, session, resume)) {
                exchange.reply(exchange.lookup().unknown(session.id()));
            }
        });
    }

    private boolean attach(Exchange exchange, Session session, Resume resume) {
        if (resume instanceof Resume.Resumed resumed) {
            stream(exchange, session, resumed.reader());
            return true;
        }
        if (resume instanceof Resume.Gap gap) {
            stream(exchange, session, gap.reader());
            return true;
        }
        return false;
    }

    private void stream(Exchange exchange, Session session, StreamReader reader) {
        exchange.stream(reader, cursor -> source(exchange, session.id(), cursor), clock)
                .ifPresentOrElse(SseConnection::startNow, () -> peers.remove(session.id()));
    }

    private SseSource source(Exchange exchange, String id, StreamReader reader) {
        String endpoint = endpoint(exchange, id);
        if (!ephemeral()) {
            return SseSource.get(reader, new EndpointFraming(endpoint, id));
        }
        PeerProof proof = new PeerProof(clock, () -> peers.remove(id));
        peers.put(id, proof);
        return SseSource.only(reader, new EndpointFraming(endpoint, ""), proof);
    }

    private String endpoint(Exchange exchange, String session) {
        String before = exchange.pathBefore(sse.path());
        String forwarded = exchange.headers().header("X-Forwarded-Prefix").orElse("");
        String prefix = !sse.base().isEmpty() || !HttpSseOptions.prefix(forwarded) ? sse.base() : forwarded;
        return prefix + (HttpSseOptions.prefix(before) ? before : "") + sse.messagePath() + "?sessionId=" + session;
    }

    /** Whether sessions end with their connections. */
    private boolean ephemeral() {
        return sse.reconnectGrace().isZero();
    }

    /** Those whose answers all go to the listening stream. */
    private static Optional<Session> session(Finding finding) {
        return finding instanceof Found found && found.session().listensOnly()
                ? Optional.of(found.session())
                : Optional.empty();
    }

    @Override
    public boolean initializeOpens() {
        return false;
    }

    @Override
    public CompletionStage<Optional<Rejection>> checkSession(Exchange exchange) {
        Optional<String> id = exchange.parameter("sessionId");
        if (id.isEmpty()) {
            return CompletableFuture.completedFuture(Optional.empty());
        }
        return engine.find(id.get(), exchange.principal())
                .thenApply(finding -> session(finding).isPresent() && mayBeThere(id.get())
                        ? Optional.empty()
                        : Optional.of(exchange.lookup().absent(finding, id.get())));
    }

    /** Whether a session that needs its connection has one. */
    private boolean mayBeThere(String id) {
        return !ephemeral() || peers.containsKey(id);
    }

    @Override
    public void find(Exchange exchange, Optional<RequestId> message, Consumer<Session> then) {
        Optional<String> id = exchange.parameter("sessionId");
        if (id.isEmpty()) {
            exchange.reply(
                    Rejection.malformed("the sessionId parameter is missing").to(message));
            return;
        }
        exchange.when(engine.find(id.get(), exchange.principal()), message, finding -> {
            Optional<Session> session = session(finding);
            if (session.isPresent() && mayBeThere(id.get())) {
                ask(exchange, session.get(), message, then);
            } else {
                exchange.reply(exchange.lookup().absent(finding, id.get()).to(message));
            }
        });
    }

    /** Goes on if the peer is there, as far as anybody can tell. */
    private void ask(Exchange exchange, Session session, Optional<RequestId> message, Consumer<Session> then) {
        PeerProof peer = peers.get(session.id());
        if (peer == null) {
            then.accept(session);
            return;
        }
        exchange.when(peer.ask(), message, there -> {
            if (there) {
                then.accept(session);
            } else {
                exchange.reply(exchange.lookup().unknown(session.id()).to(message));
            }
        });
    }

    @Override
    public void run(Exchange exchange, Session session, Call call) {
        exchange.accept(call, clock);
    }
}
